import type { CastVote, Outcome, Sealed } from '@holdpoint/contracts';
import { type ExpressionBuilder, type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { wallClock } from './clock.js';
import type { FrozenCallsTable, StagingDatabase } from './schema.js';

export type FrozenCall = Selectable<FrozenCallsTable>;

type Decided = 'decided_at' | 'decided_by' | 'cause' | 'decided_under' | 'reason';
type Executed = 'execution' | 'execution_seq' | 'outcome';
export type NewFrozenCall = Omit<FrozenCall, 'status' | 'staged_at' | 'expires_at' | Decided | Executed>;

/** How a pending call is closed before its deadline. */
export interface Closing {
  status: 'approved' | 'rejected' | 'withdrawn';
  by: string | null;
  cause: 'person' | 'policy-denied';
  decidedUnder: string;
  reason: Sealed | null;
  /** By the database's clock: the answer of policy that this rests on holds no longer. */
  validUntil?: string | undefined;
  /** Those that released it; absent where one owner's or admin's word is enough. */
  votes?: readonly CastVote[];
}

export interface Selection {
  spaces: readonly string[];
  status: FrozenCall['status'] | 'all';
  number?: number | undefined;
  tool?: string | undefined;
  agent?: string | undefined;
  after?: string | undefined;
  limit: number;
}

type Tx = Transaction<StagingDatabase>;

export class FrozenCalls {
  constructor(private readonly db: Kysely<StagingDatabase>) {}

  /** `overdue`: the deadline has passed by the database's clock. */
  find(callId: string): Promise<(FrozenCall & { overdue: boolean }) | undefined> {
    return this.db
      .selectFrom('frozen_calls')
      .selectAll()
      .select((eb) => eb('expires_at', '<=', wallClock).as('overdue'))
      .where('call_id', '=', callId)
      .$narrowType<{ overdue: boolean }>()
      .executeTakeFirst();
  }

  /** Pending ones oldest first, as work is taken up; others newest first. */
  list(s: Selection): Promise<FrozenCall[]> {
    const oldestFirst = s.status === 'pending';
    let query = this.db.selectFrom('frozen_calls').selectAll().where('space_id', 'in', s.spaces);
    if (s.status !== 'all') query = query.where('status', '=', s.status);
    if (s.number !== undefined) query = query.where('number', '=', s.number);
    if (s.tool !== undefined) query = query.where('tool', '=', s.tool);
    if (s.agent !== undefined) query = query.where('agent', '=', s.agent);
    if (s.after !== undefined) query = query.where('call_id', oldestFirst ? '>' : '<', s.after);
    return query
      .orderBy('call_id', oldestFirst ? 'asc' : 'desc')
      .limit(s.limit)
      .execute();
  }

  async has(tx: Tx, callId: string): Promise<boolean> {
    const row = await tx.selectFrom('frozen_calls').select('call_id').where('call_id', '=', callId).executeTakeFirst();
    return row !== undefined;
  }

  /** Pending from now on, by the database's clock, for so many seconds. */
  async stage(tx: Tx, call: NewFrozenCall, expiresAfterSeconds: number): Promise<FrozenCall> {
    return tx
      .with('clock', (q) => q.selectNoFrom(wallClock.as('at')))
      .insertInto('frozen_calls')
      .values((eb) => {
        const at = eb.selectFrom('clock').select('clock.at');
        return {
          ...call,
          requirements: call.requirements === null ? null : JSON.stringify(call.requirements),
          status: 'pending' as const,
          staged_at: sql<Date>`(${at})`,
          expires_at: sql<Date>`(${at}) + ${expiresAfterSeconds} * interval '1 second'`,
        };
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  /** Waits for whoever holds the row. Only a statement after this one may judge the deadline. */
  lock(tx: Tx, callId: string): Promise<FrozenCall | undefined> {
    return tx.selectFrom('frozen_calls').selectAll().where('call_id', '=', callId).forUpdate().executeTakeFirst();
  }

  /**
   * Closes a call that is pending and not overdue, while the answer holds that the closing rests on. The row must be locked in this transaction: an UPDATE that itself
   * waits for the lock has judged the deadline before it waited, and does not judge again if the holder changed nothing.
   */
  close(tx: Tx, callId: string, closing: Closing): Promise<FrozenCall | undefined> {
    return tx
      .with(
        (cte) => cte('clock').materialized(),
        (q) => q.selectNoFrom(wallClock.as('at')),
      )
      .updateTable('frozen_calls')
      .from('clock')
      .set((eb) => ({
        status: closing.status,
        decided_at: eb.ref('clock.at'),
        decided_by: closing.by,
        cause: closing.cause,
        decided_under: closing.decidedUnder,
        reason: closing.reason === null ? null : JSON.stringify(closing.reason),
        execution: closing.status === 'approved' ? ('waiting' as const) : null,
      }))
      .where('call_id', '=', callId)
      .where('status', '=', 'pending')
      .whereRef('clock.at', '<', 'expires_at')
      .$if(closing.validUntil !== undefined, (q) =>
        q.where('clock.at', '<', sql<Date>`${closing.validUntil}::timestamptz`),
      )
      .returningAll('frozen_calls')
      .executeTakeFirst();
  }

  /** Closes a pending call whose deadline has passed. */
  expire(tx: Tx, callId: string): Promise<FrozenCall | undefined> {
    return tx
      .with(
        (cte) => cte('clock').materialized(),
        (q) => q.selectNoFrom(wallClock.as('at')),
      )
      .updateTable('frozen_calls')
      .from('clock')
      .set((eb) => ({
        status: 'expired' as const,
        decided_at: eb.ref('clock.at'),
        cause: 'deadline' as const,
        decided_under: eb.ref('frozen_calls.policy_version'),
      }))
      .where('call_id', '=', callId)
      .where('status', '=', 'pending')
      .whereRef('clock.at', '>=', 'expires_at')
      .returningAll('frozen_calls')
      .executeTakeFirst();
  }

  /** Locks some overdue calls that nobody else is at. */
  async lockOverdue(tx: Tx, limit: number): Promise<string[]> {
    const rows = await tx
      .selectFrom('frozen_calls')
      .select('call_id')
      .where('status', '=', 'pending')
      .where('expires_at', '<=', wallClock)
      .orderBy('expires_at')
      .limit(limit)
      .forUpdate()
      .skipLocked()
      .execute();
    return rows.map((r) => r.call_id);
  }

  /** What an event says of a released call's execution. Older news than what is known changes nothing. */
  async noteExecution(
    tx: Tx,
    callId: string,
    news: { state: 'executing' | 'in-doubt' | 'closed'; seq: number; outcome: Outcome | null },
  ): Promise<void> {
    const notStale = (eb: ExpressionBuilder<StagingDatabase, 'frozen_calls'>) =>
      eb.or([eb('execution_seq', 'is', null), eb('execution_seq', '<', news.seq)]);
    await tx
      .updateTable('frozen_calls')
      .set({ execution: news.state, execution_seq: news.seq, outcome: news.outcome })
      .where('call_id', '=', callId)
      .where('status', '=', 'approved')
      .where('execution', '<>', 'closed')
      .where((eb) => (news.state === 'closed' ? eb.lit(true) : notStale(eb)))
      .execute();
  }
}
