import { type FileHandle, open } from 'node:fs/promises';
import { type Client, queryString } from '../client.js';
import { type Begun, findBegun } from '../export-file.js';
import { Failure, failed, misused } from '../failure.js';
import { document, note, say } from '../output.js';
import { inline } from '../text.js';
import { timeOf } from './audit-analysis.js';

export interface ExportOptions {
  json?: boolean;
  out: string;
  space?: string;
  tool?: string;
  run?: string;
  from?: string;
  to?: string;
  opened?: boolean;
}

const TELL_EVERY_MS = 5_000;
const LAST_EVENT = /\{"kind":"event","index":(\d+),/g;

/**
 * Writes an export to a file (docs/audit-log.md). A file that was cut off is gone on with, whether a moment or a week later:
 * it then equals one that was not. @throws Failure
 */
export async function exportLog(client: Client, o: ExportOptions): Promise<number> {
  const file = await open(o.out, 'a+', 0o600).catch((err: NodeJS.ErrnoException) => {
    throw failed('cli.no-access', `${o.out} cannot be written (${err.code}).`);
  });
  try {
    for (let before = -1; ; ) {
      const begun = await findBegun(file, o.out);
      if (begun.ended) break;
      requireSame(begun, o);
      const got = begun.last?.index ?? -1;
      // Whatever stops it twice at the same place will do so again.
      if (before >= 0 && got <= before)
        throw failed(
          'cli.export-cut',
          `The export was cut off. ${o.out} is kept: run the same command again to go on.`,
        );
      before = Math.max(0, got);
      await fill(client, file, begun, o);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  if (o.json) document({ file: o.out, complete: true });
  else say(`${inline(o.out)} is complete.`);
  return 0;
}

/** Appends what is missing, as far as it comes. */
async function fill(client: Client, file: FileHandle, begun: Begun, o: ExportOptions): Promise<void> {
  await file.truncate(begun.keep);
  const { header, after } = begun;
  if (after !== null) note(`${inline(o.out)} was cut off; going on behind event ${after}`);
  const query = queryString({
    space: (header?.filter?.spaces ?? o.space?.split(','))?.join(','),
    tool: o.tool,
    run: o.run,
    from: timeOf('from', o.from),
    to: timeOf('to', o.to),
    content: o.opened ? 'opened' : undefined,
    size: after === null ? undefined : header?.size,
    after: after ?? undefined,
  });
  const body = await client.body('audit', `/v1/audit/export${query}`, 'application/jsonl');
  let toldAt = performance.now();
  try {
    for await (const chunk of body) {
      await file.appendFile(chunk);
      if (performance.now() - toldAt < TELL_EVERY_MS) continue;
      toldAt = performance.now();
      const reached = [...Buffer.from(chunk).toString('latin1').matchAll(LAST_EVENT)].at(-1)?.[1];
      if (reached) note(`${reached} events looked through${header ? ` of ${header.size}` : ''}`);
    }
  } catch (err) {
    if (err instanceof Failure || (err as NodeJS.ErrnoException).code === 'ENOSPC') throw err;
    note('the connection broke');
  }
}

/** @throws Failure when the file holds the beginning of another export */
function requireSame({ header, after }: Begun, o: ExportOptions): void {
  if (header === null || after === null) return;
  const { spaces, ...others } = header.filter ?? {};
  const asked = { tool: o.tool, run: o.run, from: timeOf('from', o.from), to: timeOf('to', o.to) };
  const same =
    Object.entries(asked).every(([name, value]) => value === (others as Record<string, unknown>)[name]) &&
    (o.space === undefined || o.space.split(',').toSorted().join() === spaces?.join()) &&
    (header.content === 'opened') === (o.opened === true);
  if (!same)
    throw misused(
      `${o.out} holds the beginning of another export: give the options that it began with, or another file.`,
    );
}
