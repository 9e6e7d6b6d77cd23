import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { misused } from './failure.js';

const headerLine = z.object({
  kind: z.literal('holdpoint-export'),
  size: z.int(),
  filter: z.looseObject({ spaces: z.array(z.string()).optional() }).nullable(),
  content: z.enum(['sealed', 'opened']),
});

/** How far the export in a file has come. */
export interface Begun {
  header: z.infer<typeof headerLine> | null;
  /** The last event whose line is whole. */
  last: { index: number } | null;
  /** Go on behind this event; null to begin anew. */
  after: number | null;
  /** Bytes to keep before that. What follows an event may be missing, so the last one is fetched again. */
  keep: number;
  ended: boolean;
}

const CHUNK = 1024 * 1024;
const LINE_FEED = 10;
const EVENT = /^\{"kind":"event","index":(\d{1,15}),/;

/** @throws Failure when the file holds something else */
export async function findBegun(file: FileHandle, path: string): Promise<Begun> {
  let header: Begun['header'] = null;
  let last: { index: number; at: number } | null = null;
  let before: { index: number } | null = null;
  let ended = false;
  for await (const { start, at } of lines(file)) {
    if (at === 0) {
      header = headerLine.safeParse(parsed(start)).data ?? null;
      if (header === null)
        throw misused(`${path} is there and holds something else than an export: give another file.`);
    }
    const index = EVENT.exec(start)?.[1];
    if (index !== undefined) {
      before = last;
      last = { index: Number(index), at };
    }
    ended = start.startsWith('{"kind":"end"');
  }
  const goesOn = last !== null && before !== null;
  return { header, last, after: goesOn && before ? before.index : null, keep: goesOn && last ? last.at : 0, ended };
}

/** Whole lines alone; of a long one its beginning. */
async function* lines(file: FileHandle): AsyncGenerator<{ start: string; at: number }> {
  const longest = 64 * 1024;
  const buffer = Buffer.alloc(CHUNK);
  let [start, at, position] = ['', 0, 0];
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK, position);
    if (bytesRead === 0) return;
    for (let from = 0; from < bytesRead; ) {
      const end = buffer.subarray(0, bytesRead).indexOf(LINE_FEED, from);
      const upTo = end < 0 ? bytesRead : end;
      start += buffer.toString('latin1', from, Math.min(upTo, from + longest - Math.min(longest, start.length)));
      if (end < 0) break;
      yield { start, at };
      [start, at] = ['', position + end + 1];
      from = end + 1;
    }
    position += bytesRead;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
