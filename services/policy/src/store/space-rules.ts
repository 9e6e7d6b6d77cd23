import { type SpaceRulesView, type SpaceRuleView, spaceRule } from '@holdpoint/contracts';
import type { Kysely, Selectable } from 'kysely';
import type { PolicyDatabase, SpaceRulesTable } from './schema.js';

export type SpaceRulesRow = Omit<Selectable<SpaceRulesTable>, 'schema_version'>;

/** The row of a space in `space_rules`: all its rules as one list. Its audit is written by the table itself. */
export const spaceRules = {
  async find(db: Kysely<PolicyDatabase>, spaceId: string): Promise<SpaceRulesRow | undefined> {
    const row = await db.selectFrom('space_rules').selectAll().where('space_id', '=', spaceId).executeTakeFirst();
    return row && { ...row, rules: row.rules.map(inOrder) };
  },

  async set(db: Kysely<PolicyDatabase>, { space_id, rules, ...rest }: SpaceRulesRow): Promise<void> {
    const row = { ...rest, rules: JSON.stringify(rules) };
    await db
      .insertInto('space_rules')
      .values({ space_id, ...row })
      .onConflict((c) => c.column('space_id').doUpdateSet(row))
      .execute();
  },
};

/** As declared: the database keeps the fields of a rule in an order of its own. */
export const inOrder = (stored: SpaceRuleView): SpaceRuleView => spaceRule.parse(stored);

export const rulesViewOf = (spaceId: string, row: SpaceRulesRow | undefined): SpaceRulesView => ({
  spaceId,
  rules: row?.rules ?? [],
  updatedAt: row?.updated_at.toISOString() ?? null,
  updatedBy: row?.updated_by ?? null,
});
