import type { DatabaseSession } from '@holdpoint/runtime';
import { parseCheckpoint, parseKey, parseNote } from '../domain/note.js';
import { insertCheckpoint, insertKey, latestCheckpoint, numberOf, signingKeys } from '../store/checkpoints.js';
import type { Database } from '../store/schema.js';
import { LogHalted } from './log-halted.js';
import type { Outlet } from './outlets/outlet.js';
import { isSignedBy } from './signing-key.js';

/**
 * Takes back from an outlet the checkpoints and keys that a restored database lacks. Each has to be signed by a key that is
 * known, or that came of one; only what the log was held against before is worth taking.
 * @returns how many checkpoints were taken
 * @throws LogHalted when one bears no such signature
 */
export async function adopt({ db }: DatabaseSession<Database>, outlet: Outlet): Promise<number> {
  let taken = 0;
  /** Waits for the first checkpoint that it signed. */
  let key: { vkey: string; sinceSize: number; note: string } | undefined;
  for await (const { kind, note } of outlet.all()) {
    const parsed = parseNote(note);
    const keys = await signingKeys(db);
    const known = [...keys.map((k) => k.vkey), ...(key ? [key.vkey] : [])];
    if (kind === 'key') {
      const stated = parseKey(parsed?.text ?? '');
      if (stated === null || parsed === null || known.includes(stated.vkey)) continue;
      const by = known.length === 0 ? [stated.vkey] : known;
      if (!by.some((vkey) => isSignedBy(vkey, parsed))) throw unsigned(outlet);
      key = { ...stated, note };
      continue;
    }
    const checkpoint = parseCheckpoint(parsed?.text ?? '');
    if (checkpoint === null || parsed === null) throw unsigned(outlet);
    if ((await numberOf(db, checkpoint.size, note)) !== null) continue;
    if (!known.some((vkey) => isSignedBy(vkey, parsed))) throw unsigned(outlet);
    const number = ((await latestCheckpoint(db))?.number ?? 0) + 1;
    const made = key;
    await db.transaction().execute(async (tx) => {
      await insertCheckpoint(tx, { number, size: checkpoint.size, root: Buffer.from(checkpoint.root), note });
      if (made)
        await insertKey(tx, {
          number: keys.length + 1,
          vkey: made.vkey,
          since_size: made.sinceSize,
          checkpoint: number,
          note: made.note,
        });
    });
    key = undefined;
    taken++;
  }
  return taken;
}

const unsigned = (outlet: Outlet): LogHalted =>
  new LogHalted(
    'audit.key-unknown',
    `${outlet.name} holds what no key of this log has signed. Restore a backup that has the table signing_keys, or find out who wrote there.`,
  );
