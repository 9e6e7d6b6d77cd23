import { type Kysely, sql, type Transaction } from 'kysely';
import type { Position } from '../domain/sequence.js';
import type { Database } from './schema.js';

/** Two writers, or one that lost its place: nothing was written. */
export class OutOfStep extends Error {
  override readonly name = 'OutOfStep';
}

export async function positionOf(db: Kysely<Database>): Promise<(Position & { changedAt: Date }) | null> {
  const row = await db.selectFrom('position').selectAll().executeTakeFirst();
  return row ? { firstSeq: row.first_seq, lastSeq: row.last_seq, changedAt: row.changed_at } : null;
}

/**
 * Moves the position over `from`…`to`, in the transaction that stores them; holds off every other writer until it ends.
 * @throws OutOfStep unless `from` is the very next sequence
 */
export async function advance(tx: Transaction<Database>, from: number, to: number): Promise<{ firstSeq: number }> {
  const moved = await tx
    .updateTable('position')
    .set({ last_seq: to, changed_at: sql`clock_timestamp()` })
    .where('last_seq', '=', from - 1)
    .returning('first_seq')
    .executeTakeFirst();
  if (moved !== undefined) return { firstSeq: moved.first_seq };
  const begun = await tx
    .insertInto('position')
    .values({ first_seq: from, last_seq: to })
    .onConflict((oc) => oc.doNothing())
    .executeTakeFirst();
  if (begun.numInsertedOrUpdatedRows !== 1n) throw new OutOfStep(`the log does not stand right before ${from}`);
  return { firstSeq: from };
}
