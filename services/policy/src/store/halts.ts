import { type HaltView, token } from '@holdpoint/contracts';
import type { Selectable, Transaction } from 'kysely';
import { z } from 'zod';
import type { HaltsTable, PolicyDatabase } from './schema.js';

type Tx = Transaction<PolicyDatabase>;
export type HaltRow = Selectable<HaltsTable>;

export const haltsQuery = z.strictObject({
  spaceId: token.optional(),
  /** The lifted ones too. */
  all: z.stringbool().default(false),
  /** `nextCursor` of the page before. */
  cursor: token.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
export type HaltsQuery = z.infer<typeof haltsQuery>;

/** Rows of `halts`, as the person of the transaction may see and change them. */
export const halts = {
  find: (tx: Tx, id: string): Promise<HaltRow | undefined> =>
    tx.selectFrom('halts').selectAll().where('halt_id', '=', id).executeTakeFirst(),

  /** Newest first; with a space, those that hold for it. */
  list: (tx: Tx, { spaceId, all, cursor, limit }: HaltsQuery): Promise<HaltRow[]> =>
    tx
      .selectFrom('halts')
      .selectAll()
      .$if(spaceId !== undefined, (q) =>
        q.where((e) => e.or([e('scope', '=', 'everything'), e('space_id', '=', spaceId ?? '')])),
      )
      .$if(!all, (q) => q.where('lifted_at', 'is', null))
      .$if(cursor !== undefined, (q) => q.where('halt_id', '<', cursor ?? ''))
      .orderBy('halt_id', 'desc')
      .limit(limit)
      .execute(),

  async add(tx: Tx, row: HaltRow): Promise<void> {
    await tx.insertInto('halts').values(row).execute();
  },

  async lift(tx: Tx, id: string, lifted: { lifted_by: string; lifted_at: Date }): Promise<void> {
    const { numUpdatedRows } = await tx
      .updateTable('halts')
      .set(lifted)
      .where('halt_id', '=', id)
      .executeTakeFirstOrThrow();
    // A row that a policy hides is passed over without an error.
    if (numUpdatedRows !== 1n) throw new Error('the row policies did not let the halt be lifted');
  },
};

export const haltViewOf = (row: HaltRow): HaltView => ({
  id: row.halt_id,
  scope: row.scope,
  spaceId: row.space_id,
  agent: row.agent,
  reason: row.reason,
  setBy: row.set_by,
  setAt: row.set_at.toISOString(),
  liftedBy: row.lifted_by,
  liftedAt: row.lifted_at?.toISOString() ?? null,
});
