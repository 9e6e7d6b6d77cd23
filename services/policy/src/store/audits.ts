import { type SpacePolicyAudit, type SpaceRulesAudit, type SpaceRuleView } from '@holdpoint/contracts';
import { sql, type Transaction } from 'kysely';
import { z } from 'zod';
import type { PolicyDatabase } from './schema.js';
import { inOrder } from './space-rules.js';

type Tx = Transaction<PolicyDatabase>;
type Entry<What> = Omit<SpacePolicyAudit['entries'][number], 'toolName' | 'at'> & { at: Date; what: What };

/** Where a page ended: the time of its last row, and its id, as several rows of one change have one time. */
export const auditQuery = z.strictObject({
  /** `nextCursor` of the page before. */
  cursor: z
    .string()
    .regex(/^\d{1,15}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be the nextCursor of another page')
    .optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
export type AuditQuery = z.infer<typeof auditQuery>;

/** Newest first. Rows come from triggers alone, and nothing changes or removes them. */
export const audits = {
  async preferences(tx: Tx, spaceId: string, query: AuditQuery): Promise<SpacePolicyAudit> {
    const { entries, ...rest } = await page<string>(tx, 'space_policy_audit', 'tool_name', spaceId, query);
    return { entries: entries.map(({ what, at, ...e }) => ({ ...e, toolName: what, at: at.toISOString() })), ...rest };
  },

  async rules(tx: Tx, spaceId: string, query: AuditQuery): Promise<SpaceRulesAudit> {
    const { entries, ...rest } = await page<SpaceRuleView>(tx, 'space_rules_audit', 'rule', spaceId, query);
    return {
      entries: entries.map(({ what, at, ...e }) => ({ ...e, rule: inOrder(what), at: at.toISOString() })),
      ...rest,
    };
  },
};

async function page<What>(tx: Tx, table: string, what: string, spaceId: string, { cursor, limit }: AuditQuery) {
  const [time, id] = cursor?.split('_') ?? [];
  const before = id === undefined ? sql`` : sql`AND (a.at, a.id) < (${new Date(Number(time))}, ${id}::uuid)`;
  const { rows } = await sql<Entry<What>>`
    SELECT a.id, a.space_id AS "spaceId", a.actor_id AS "actorId", coalesce(m.display_name, a.actor_id) AS "actorDisplayName",
           a.action, ${sql.ref(`a.${what}`)} AS what, a.at
    FROM ${sql.table(`policy.${table}`)} a
      LEFT JOIN policy.space_members m ON m.space_id = a.space_id AND m.user_id = a.actor_id
    WHERE a.space_id = ${spaceId} ${before}
    ORDER BY a.at DESC, a.id DESC LIMIT ${limit + 1}
  `.execute(tx);
  const entries = rows.slice(0, limit);
  const last = entries.at(-1);
  return { entries, ...(rows.length > limit && last ? { nextCursor: `${last.at.getTime()}_${last.id}` } : {}) };
}
