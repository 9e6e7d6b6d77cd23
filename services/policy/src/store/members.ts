import type { MemberView, Role } from '@holdpoint/contracts';
import type { Selectable, Transaction } from 'kysely';
import type { PolicyDatabase, SpaceMembersTable } from './schema.js';

type Tx = Transaction<PolicyDatabase>;
export type MemberRow = Selectable<SpaceMembersTable>;

/** Rows of `space_members`, as the person of the transaction may see and change them. */
export const members = {
  find: (tx: Tx, spaceId: string, userId: string): Promise<MemberRow | undefined> =>
    tx
      .selectFrom('space_members')
      .selectAll()
      .where('space_id', '=', spaceId)
      .where('user_id', '=', userId)
      .executeTakeFirst(),

  /** By user id, from the one after `after` on. */
  list: (tx: Tx, spaceId: string, after: string, limit: number): Promise<MemberRow[]> =>
    tx
      .selectFrom('space_members')
      .selectAll()
      .where('space_id', '=', spaceId)
      .where('user_id', '>', after)
      .orderBy('user_id')
      .limit(limit)
      .execute(),

  async ownersBesides(tx: Tx, spaceId: string, userId: string): Promise<number> {
    const { n } = await tx
      .selectFrom('space_members')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('space_id', '=', spaceId)
      .where('role', '=', 'owner' satisfies Role)
      .where('user_id', '<>', userId)
      .executeTakeFirstOrThrow();
    return n;
  },

  async add(tx: Tx, row: MemberRow): Promise<void> {
    await tx.insertInto('space_members').values(row).execute();
  },

  async change(tx: Tx, { space_id, user_id, ...row }: MemberRow): Promise<void> {
    const { numUpdatedRows } = await tx
      .updateTable('space_members')
      .set(row)
      .where('space_id', '=', space_id)
      .where('user_id', '=', user_id)
      .executeTakeFirstOrThrow();
    // A row that a policy hides is passed over without an error.
    if (numUpdatedRows !== 1n) throw new Error('the row policies did not let the member be changed');
  },

  async remove(tx: Tx, spaceId: string, userId: string): Promise<void> {
    const { numDeletedRows } = await tx
      .deleteFrom('space_members')
      .where('space_id', '=', spaceId)
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow();
    if (numDeletedRows !== 1n) throw new Error('the row policies did not let the member be removed');
  },
};

export const memberViewOf = (row: MemberRow): MemberView => ({
  userId: row.user_id,
  displayName: row.display_name,
  role: row.role,
  groups: row.groups,
  changedBy: row.changed_by,
  changedAt: row.changed_at.toISOString(),
});
