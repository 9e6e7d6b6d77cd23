import type { ApprovalTime, AuditEntry, HeldShare, OutcomeCost, ToolErrorRate } from '@holdpoint/contracts';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from './schema.js';

/** A time, and of whom. `bucket` cuts it in UTC. */
export interface Span {
  spaces: string[];
  from: string | undefined;
  to: string;
  bucket: 'hour' | 'day' | undefined;
}

/** What entries and receipts come to, in the order of time and name. */
export class Analysis {
  constructor(private readonly db: Kysely<Database>) {}

  async errorRates(span: Span): Promise<ToolErrorRate[]> {
    const counted = (status: AuditEntry['status']) => sql<number>`count(*) filter (where status = ${status})`;
    const rows = await this.db
      .selectFrom('audit_log')
      .select(['tool', 'action', bucketOf(span, sql`at`).as('bucket'), sql<number>`count(*)`.as('calls')])
      .select([counted('Ok').as('ok'), counted('Error').as('errors')])
      .select([counted('Denied').as('denied'), counted('NotFound').as('notFound')])
      .where('kind', '=', 'outcome')
      .where(within(span, sql`at`))
      .groupBy(sql`1, 2, 3`)
      .orderBy(sql`3, 1, 2`)
      .execute();
    return rows.map(({ ok, bucket, ...row }) => ({
      ...row,
      bucket: iso(bucket),
      rate: ok + row.errors === 0 ? null : row.errors / (ok + row.errors),
    }));
  }

  /** A call counts once: when it was held, else when it came to its end. */
  async heldShares(span: Span): Promise<HeldShare[]> {
    const rows = await this.db
      .selectFrom('audit_log as entry')
      .select(['tool', 'action', bucketOf(span, sql`at`).as('bucket'), sql<number>`count(*)`.as('calls')])
      .select(sql<number>`count(*) filter (where kind = 'staging')`.as('held'))
      .where('kind', '<>', 'decision')
      .where(within(span, sql`at`))
      .where(sql<boolean>`(kind = 'staging' OR NOT EXISTS (
        SELECT FROM audit.audit_log AS held
        WHERE held.call_id = entry.call_id AND held.space_id = entry.space_id AND held.kind = 'staging'))`)
      .groupBy(sql`1, 2, 3`)
      .orderBy(sql`3, 1, 2`)
      .execute();
    return rows.map(({ bucket, ...row }) => ({ ...row, bucket: iso(bucket), share: row.held / row.calls }));
  }

  /** By the stream's clock, under the hour or day of the decision. */
  async approvalTimes(span: Span): Promise<ApprovalTime[]> {
    const took = sql`extract(epoch FROM decided.at - held.at) * 1000`;
    const quantile = (share: number) =>
      sql<number | null>`(percentile_cont(${sql.lit(share)}) WITHIN GROUP (ORDER BY ${took})
        FILTER (WHERE decided.principal_kind = 'person'))::float8`;
    const rows = await this.db
      .selectFrom('audit_log as decided')
      .innerJoin('audit_log as held', (on) =>
        on.onRef('held.call_id', '=', 'decided.call_id').onRef('held.space_id', '=', 'decided.space_id'),
      )
      .select(['decided.tool', 'decided.action', bucketOf(span, sql`decided.at`).as('bucket')])
      .select(sql<number>`count(*)`.as('decided'))
      .select(sql<number>`count(*) filter (where decided.status = 'Ok')`.as('approved'))
      .select(sql<number>`count(*) filter (where decided.principal_kind = 'person')`.as('byPerson'))
      .select([quantile(0.5).as('medianMs'), quantile(0.95).as('p95Ms')])
      .where('decided.kind', '=', 'decision')
      .where('held.kind', '=', 'staging')
      .where(within(span, sql`decided.at`, sql`decided.space_id`))
      .groupBy(sql`1, 2, 3`)
      .orderBy(sql`3, 1, 2`)
      .execute();
    return rows.map(({ bucket, ...row }) => ({ ...row, bucket: iso(bucket) }));
  }

  /** Under the hour or day in which the last run of an outcome ended. */
  async outcomeCosts(span: Span): Promise<OutcomeCost[]> {
    const outcomes = this.db
      .selectFrom('run_receipts')
      .select(['agent', sql<Date>`max(completed_at)`.as('at'), sql<number>`count(*)`.as('runs')])
      .select(sql<string>`coalesce(sum(cost_amount) filter (where cost_known), 0)`.as('amount'))
      .select(sql<number>`count(*) filter (where not cost_known)`.as('unknown'))
      .where('space_id', '=', sql<string>`any(${span.spaces}::text[])`)
      .groupBy(['space_id', 'agent', sql`coalesce('task ' || task_id, 'run ' || run_id)`]);
    const rows = await this.db
      .selectFrom(outcomes.as('outcome'))
      .select(['agent', bucketOf(span, sql`at`).as('bucket'), sql<number>`count(*)`.as('outcomes')])
      .select([sql<number>`sum(runs)::bigint`.as('runs'), sql<string>`sum(amount)::text`.as('amount')])
      .select(sql<number>`sum(unknown)::bigint`.as('unknownCosts'))
      .select(sql<string | null>`trim_scale(avg(amount) filter (where unknown = 0))::text`.as('perOutcome'))
      .where(within({ ...span, spaces: undefined }, sql`at`))
      .groupBy(sql`1, 2`)
      .orderBy(sql`2, 1`)
      .execute();
    return rows.map(({ bucket, amount, ...row }) => ({
      ...row,
      bucket: iso(bucket),
      cost: { amount, known: row.unknownCosts === 0 },
    }));
  }
}

const bucketOf = ({ bucket }: Span, at: RawBuilder<unknown>) =>
  bucket ? sql<Date | null>`date_trunc(${bucket}::text, ${at}, 'UTC')` : sql<Date | null>`NULL::timestamptz`;

const iso = (bucket: Date | null): string | null => bucket?.toISOString() ?? null;

function within(
  { spaces, from, to }: Omit<Span, 'bucket' | 'spaces'> & { spaces: string[] | undefined },
  at: RawBuilder<unknown>,
  space: RawBuilder<unknown> = sql`space_id`,
): RawBuilder<boolean> {
  const parts = [sql`${at} < ${new Date(to)}`];
  if (from) parts.push(sql`${at} >= ${new Date(from)}`);
  if (spaces) parts.push(sql`${space} = any(${spaces}::text[])`);
  return sql<boolean>`${sql.join(parts, sql` AND `)}`;
}
