import type { Verdict } from '@holdpoint/contracts';
import { sql, type Transaction } from 'kysely';
import type { JudgedRow } from '../domain/decision-row.js';
import type { StatedTool } from '../domain/tool-facts.js';
import type { PolicyDatabase } from './schema.js';

/** A call of the past, its verdict, and what it was judged by. */
export interface PastCall {
  callId: string;
  decidedAt: Date;
  verdict: Verdict;
  reason: string;
  /** Null when it was not kept. */
  facts: (StatedTool & { flags: string[] }) | null;
}

export interface Past {
  spaceId: string;
  since: Date | undefined;
  before: { decidedAt: Date; callId: string } | undefined;
  limit: number;
}

type Row = {
  call_id: string;
  decided_at: Date;
  verdict: Verdict;
  reason: string;
  known: boolean;
  flags: string[];
} & StatedTool;

/** One row a call, written with its decision. */
export const judgedCalls = {
  async add(tx: Transaction<PolicyDatabase>, row: JudgedRow): Promise<void> {
    await tx.insertInto('judged_calls').values(row).execute();
  },

  /** The latest first. What an owner or admin of the space may see; to anybody else no call has facts. */
  async page(tx: Transaction<PolicyDatabase>, { spaceId, since, before, limit }: Past): Promise<PastCall[]> {
    const from = since === undefined ? sql`` : sql`AND d.decided_at >= ${since}`;
    const older =
      before === undefined ? sql`` : sql`AND (d.decided_at, d.call_id) < (${before.decidedAt}, ${before.callId})`;
    // The page first: joined before it is cut, every page would read the whole history.
    const { rows } = await sql<Row>`
      WITH page AS MATERIALIZED (
        SELECT d.call_id, d.space_id, d.decided_at, coalesce(d.would_be, d.verdict) AS verdict, d.reason
        FROM policy.decisions d
        WHERE d.space_id = ${spaceId} ${from} ${older}
        ORDER BY d.decided_at DESC, d.call_id DESC LIMIT ${limit})
      SELECT p.call_id, p.decided_at, p.verdict, p.reason, j.call_id IS NOT NULL AS known,
             j.agent, j.server, j.tool, j.action, j.hint, j.scope, j.origin, j.flags
      FROM page p LEFT JOIN policy.judged_calls j ON j.call_id = p.call_id AND j.space_id = p.space_id
      ORDER BY p.decided_at DESC, p.call_id DESC
    `.execute(tx);
    return rows.map(({ call_id, decided_at, verdict, reason, known, ...facts }) => ({
      callId: call_id,
      decidedAt: decided_at,
      verdict,
      reason,
      facts: known ? facts : null,
    }));
  },
};
