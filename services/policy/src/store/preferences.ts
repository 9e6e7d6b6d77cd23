import type { SpacePolicyView } from '@holdpoint/contracts';
import type { Kysely, Selectable } from 'kysely';
import type { PolicyDatabase, SpacePolicyPreferencesTable } from './schema.js';

export type PreferencesRow = Omit<Selectable<SpacePolicyPreferencesTable>, 'schema_version'>;

/** The row of a space in `space_policy_preferences`; its audit is written by the table itself. */
export const preferences = {
  find: (db: Kysely<PolicyDatabase>, spaceId: string): Promise<PreferencesRow | undefined> =>
    db.selectFrom('space_policy_preferences').selectAll().where('space_id', '=', spaceId).executeTakeFirst(),

  async set(db: Kysely<PolicyDatabase>, { space_id, ...row }: PreferencesRow): Promise<void> {
    await db
      .insertInto('space_policy_preferences')
      .values({ space_id, ...row })
      .onConflict((c) => c.column('space_id').doUpdateSet(row))
      .execute();
  },
};

export const preferencesViewOf = (spaceId: string, row: PreferencesRow | undefined): SpacePolicyView => ({
  spaceId,
  allowDestructive: row?.allow_destructive ?? [],
  updatedAt: row?.updated_at.toISOString() ?? null,
  updatedBy: row?.updated_by ?? null,
});
