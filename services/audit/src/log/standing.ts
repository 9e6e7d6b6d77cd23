import type { Kysely } from 'kysely';
import { type Checkpoint, parseCheckpoint, parseNote } from '../domain/note.js';
import type { Position } from '../domain/sequence.js';
import { latestCheckpoint } from '../store/checkpoints.js';
import { positionOf } from '../store/position.js';
import type { Database } from '../store/schema.js';
import { LogHalted } from './log-halted.js';
import type { Outlet } from './outlets/outlet.js';
import { TreeAt } from './tree-at.js';

/** A checkpoint and where it was found. */
export interface Kept {
  where: string;
  note: string;
  checkpoint: Checkpoint;
}

/** The latest checkpoint of the database and of each outlet. @throws LogHalted when one of them holds something else */
export async function latestKept(db: Kysely<Database>, outlets: readonly Outlet[]): Promise<Kept[]> {
  const stored = { name: 'the database', latest: async () => (await latestCheckpoint(db))?.note ?? null };
  const kept = await Promise.all(
    [stored, ...outlets].map(async (place) => {
      const note = await place.latest();
      if (note === null) return [];
      const checkpoint = parseCheckpoint(parseNote(note)?.text ?? '');
      if (checkpoint === null)
        throw new LogHalted('audit.checkpoint-differs', `what ${place.name} holds last is no checkpoint. ${LOOK}`);
      return [{ where: place.name, note, checkpoint }];
    }),
  );
  return kept.flat();
}

/**
 * Holds what was signed against the log as it is now: a database that was restored from an older backup, cut, or rewritten
 * would sign a second history.
 * @throws LogHalted
 */
export async function holdAgainst(db: Kysely<Database>, kept: readonly Kept[]): Promise<void> {
  const position = await positionOf(db);
  const size = sizeOf(position);
  for (const { where, checkpoint } of kept) {
    if (checkpoint.size > size)
      throw new LogHalted(
        'audit.checkpoint-ahead',
        `the log has ${size} events, and ${where} holds a checkpoint of ${checkpoint.size}: the database was restored from an older backup, or was cut. If you restored it, start audit once with AUDIT_AFTER_RESTORE=catch-up: it takes from the stream what the log lacks, and goes on if the checkpoint fits.`,
      );
    if (position !== null && checkpoint.firstSeq === position.firstSeq) {
      const root = await new TreeAt(db, checkpoint.size, position.firstSeq).root();
      if (Buffer.compare(root, checkpoint.root) === 0) continue;
    }
    throw new LogHalted(
      'audit.checkpoint-differs',
      `the first ${checkpoint.size} events of the log are not those of the checkpoint that ${where} holds: one of the two was changed. ${LOOK}`,
    );
  }
}

export const sizeOf = (position: Position | null): number =>
  position === null ? 0 : position.lastSeq - position.firstSeq + 1;

const LOOK =
  'Stop all services, export the log, and hold it against checkpoints that were kept elsewhere; a backup that they fit is the one to restore.';
