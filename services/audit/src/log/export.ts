import type { Receipt } from '@holdpoint/contracts';
import type { Keyring } from '@holdpoint/runtime';
import type { Kysely } from 'kysely';
import { parseCheckpoint, parseNote } from '../domain/note.js';
import type { StoredEntry } from '../domain/rows.js';
import { checkpointsBehind, type StoredCheckpoint, signingKeys } from '../store/checkpoints.js';
import { Exported, type ExportedRow, type ExportFilter } from '../store/exported.js';
import type { Database } from '../store/schema.js';
import { opened } from './opened.js';
import { TreeAt } from './tree-at.js';

export interface ExportRequest {
  /** Covers all that is exported. */
  closing: StoredCheckpoint;
  /** Null for the whole log. */
  filter: ExportFilter | null;
  /** Null unless content is to be opened; which spaces' is asked before each page. */
  open: { keyring: Keyring } | null;
  /** The event with this index is there already, as is all before it. */
  after: number | null;
  /** An older checkpoint's size: a proof that the log grew out of that one is added. */
  known: number | null;
}

const CHECKPOINTS_AT_ONCE = 500;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * An export, line by line (docs/audit-log.md), in portions. The same request gives the same lines for ever, and with `after`
 * the rest of them.
 * @param mayGoOn asked before each portion; tells whose content may be opened; what it throws ends the export
 */
export async function* exportLines(
  db: Kysely<Database>,
  { closing, filter, open, after, known }: ExportRequest,
  mayGoOn: () => Promise<{ spaces: readonly string[] }>,
): AsyncGenerator<string> {
  const { origin, firstSeq } = checkpointOf(closing);
  const { size } = closing;
  if (after === null) {
    const [version, from, to, content] = [1, 0, size, open ? 'opened' : 'sealed'];
    const keys = (await signingKeys(db)).filter((k) => k.number > 1 && k.checkpoint <= closing.number);
    yield line({ kind: 'holdpoint-export', version, origin, first: firstSeq, size, from, to, filter, content }) +
      keys.map(({ note }) => line({ kind: 'key', note })).join('');
  }
  const exported = await Exported.of(db, filter ?? {}, firstSeq, firstSeq + size - 1);
  const tree = filter === null ? null : new TreeAt(db, size, firstSeq);
  const start = after === null ? firstSeq - 1 : firstSeq + after;
  const count = await exported.countUpTo(start);
  for await (const { rows, entries, receipts } of exported.pages(start)) {
    const { spaces } = await mayGoOn();
    const portion: string[] = [];
    for (const row of rows) {
      const index = row.stream_seq - firstSeq;
      const proof = tree && { proof: (await tree.inclusion(index)).map(base64) };
      const content = open && row.space_id !== null && spaces.includes(row.space_id) && !row.fault;
      portion.push(
        line({
          ...eventLine(row, index),
          ...proof,
          ...(content ? { opened: await opened(open.keyring, row.space_id as string, jsonOf(row.body)) } : {}),
        }),
      );
      const [entry, receipt] = [entries.get(row.stream_seq), receipts.get(row.stream_seq)];
      if (entry) portion.push(line(entryLine(entry)));
      if (receipt) portion.push(line({ kind: 'receipt', ...receipt } satisfies { kind: string } & Receipt));
    }
    yield portion.join('');
    count.events += rows.length;
    count.entries += entries.size;
    count.receipts += receipts.size;
  }
  await mayGoOn();
  if (known !== null)
    yield line({
      kind: 'consistency',
      from: known,
      to: size,
      proof: (await new TreeAt(db, size, firstSeq).consistency(known)).map(base64),
    });
  if (filter === null) yield* olderCheckpoints(db, closing);
  yield line({ kind: 'checkpoint', note: closing.note }) + line({ kind: 'end', ...count });
}

async function* olderCheckpoints(db: Kysely<Database>, closing: StoredCheckpoint): AsyncGenerator<string> {
  for (let after = 0; ; ) {
    const some = await checkpointsBehind(db, after, CHECKPOINTS_AT_ONCE, closing.number - 1);
    if (some.length === 0) return;
    yield some.map(({ note }) => line({ kind: 'checkpoint', note })).join('');
    after = (some.at(-1) as StoredCheckpoint).number;
  }
}

function eventLine({ stream_seq, subject, body, stored_at, fault, duplicate }: ExportedRow, index: number) {
  return {
    kind: 'event',
    index,
    seq: stream_seq,
    time: stored_at.toISOString(),
    subject,
    ...bodyOf(body),
    ...(duplicate ? { duplicate } : {}),
    ...(fault === null ? {} : { fault }),
  };
}

/** Text where text is the very bytes. */
function bodyOf(body: Buffer): { body: string } | { bodyBase64: string } {
  try {
    return { body: utf8.decode(body) };
  } catch {
    return { bodyBase64: body.toString('base64') };
  }
}

const entryLine = ({ id, at, kind, ...entry }: StoredEntry) => ({
  kind: 'entry',
  eventId: id,
  at: at.toISOString(),
  entryKind: kind,
  ...entry,
});

export function checkpointOf({ note }: Pick<StoredCheckpoint, 'note'>) {
  const checkpoint = parseCheckpoint(parseNote(note)?.text ?? '');
  if (checkpoint === null) throw new Error('the database holds a checkpoint that is none');
  return checkpoint;
}

export const base64 = (hash: Uint8Array): string => Buffer.from(hash).toString('base64');
const line = (value: object): string => `${JSON.stringify(value)}\n`;

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
