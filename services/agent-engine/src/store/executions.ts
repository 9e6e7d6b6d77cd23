import type { CallRef, ExecutionClass } from '@holdpoint/contracts';
import { currentTraceparent } from '@holdpoint/runtime';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { AttemptOutcome, Database } from './schema.js';

export interface Claim {
  callId: string;
  spaceId: string;
  runId: string;
  call: CallRef;
  held: boolean;
  attempt: number;
  /** Names this attempt; whoever cannot show it can no longer end the execution. */
  fence: string;
}

export type ExecutionRow = Selectable<Database['executions']>;
export const claimOf = (r: ExecutionRow): Claim => ({
  callId: r.call_id,
  spaceId: r.space_id,
  runId: r.run_id,
  call: JSON.parse(r.ref) as CallRef,
  held: r.held,
  attempt: r.attempt,
  fence: r.fence,
});

type Tx = Transaction<Database>;
/** Of the trigger that looks at `answer_until` when a claim is committed. */
const ANSWER_RUN_OUT = 'HP001';
export const isAnswerRunOut = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === ANSWER_RUN_OUT;

const now = sql<Date>`clock_timestamp()`;
const fromNow = (ms: number) => sql<Date>`clock_timestamp() + ${ms} * interval '1 millisecond'`;

/**
 * The claims. One row a call, and never a second: whoever inserts it may try the effect, everybody else may not.
 * A row that is not `executing` says why nobody may (charter, section 6; guarantee G4). While it is executing its one
 * attempt is named by the fence; a further attempt takes the fence away from the one before.
 */
export class Executions {
  constructor(private readonly db: Kysely<Database>) {}

  /**
   * With `answerUntil`, the transaction is only committed before that moment of the database's clock, and throws what
   * `isAnswerRunOut` otherwise. @returns false when the call was claimed, refused or abandoned before.
   */
  async take(
    tx: Tx,
    claim: Claim,
    how:
      | {
          state: 'executing';
          leaseMs: number;
          timeoutMs: number;
          executionClass: ExecutionClass;
          engine: string;
          answerUntil: Date | null;
        }
      | { state: 'refused' | 'abandoned' },
  ): Promise<boolean> {
    const executing = how.state === 'executing';
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('executions')
      .values({
        call_id: claim.callId,
        space_id: claim.spaceId,
        run_id: claim.runId,
        ref: JSON.stringify(claim.call),
        held: claim.held,
        state: how.state,
        attempt: claim.attempt,
        fence: claim.fence,
        lease_until: fromNow(executing ? how.leaseMs : 0),
        timeout_ms: executing ? how.timeoutMs : 1,
        execution_class: executing ? how.executionClass : 'at-most-once',
        doubt_reason: null,
        traceparent: currentTraceparent() ?? null,
        answer_until: executing ? how.answerUntil : null,
      })
      .onConflict((oc) => oc.column('call_id').doNothing())
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows !== 1n) return false;
    if (executing) await this.#begin(tx, claim, how.engine);
    return true;
  }

  /**
   * Fences the attempt of `claim` out and begins the next one. It must be due; what is due stays due under its fence.
   * @returns undefined when it ended or somebody else began the next attempt; `ruled-out` when each attempt before has
   *   said of itself that it did not happen.
   */
  async retake(
    tx: Tx,
    claim: Claim,
    how: { fence: string; leaseMs: number; timeoutMs: number; engine: string },
  ): Promise<{ claim: Claim; earlier: 'ruled-out' | 'open' } | undefined> {
    const next = { ...claim, attempt: claim.attempt + 1, fence: how.fence };
    const { numUpdatedRows } = await tx
      .updateTable('executions')
      .set({
        attempt: next.attempt,
        fence: next.fence,
        lease_until: fromNow(how.leaseMs),
        timeout_ms: how.timeoutMs,
        retry_at: null,
        changed_at: now,
      })
      .where('call_id', '=', claim.callId)
      .where('fence', '=', claim.fence)
      .where('state', '=', 'executing')
      .executeTakeFirst();
    if (numUpdatedRows !== 1n) return undefined;
    await this.#outcome(tx, claim, 'lapsed');
    const open = await tx
      .selectFrom('attempts')
      .select('attempt')
      .where('call_id', '=', claim.callId)
      .where('outcome', 'is distinct from', 'did-not-happen')
      .executeTakeFirst();
    await this.#begin(tx, next, how.engine);
    return { claim: next, earlier: open ? 'open' : 'ruled-out' };
  }

  /** Asked right before the effect. After the lease the effect must not begin: a further attempt may already have. */
  async leased(claim: Claim): Promise<boolean> {
    const row = await this.db
      .selectFrom('executions')
      .select(sql<boolean>`lease_until > clock_timestamp()`.as('leased'))
      .where('call_id', '=', claim.callId)
      .where('fence', '=', claim.fence)
      .where('state', '=', 'executing')
      .where('retry_at', 'is', null)
      .executeTakeFirst();
    return row?.leased === true;
  }

  /** @returns false when the attempt was fenced out: what it has to say is not heard any more. */
  async end(
    tx: Tx,
    claim: Claim,
    to:
      | { state: 'closed'; outcome: AttemptOutcome }
      | { state: 'in-doubt'; outcome: AttemptOutcome; reason: 'tool-answered-unknown' | 'lease-lapsed' },
  ): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('executions')
      .set({
        state: to.state,
        doubt_reason: to.state === 'in-doubt' ? to.reason : null,
        retry_at: null,
        changed_at: now,
      })
      .where('call_id', '=', claim.callId)
      .where('fence', '=', claim.fence)
      .where('state', '=', 'executing')
      .executeTakeFirst();
    if (numUpdatedRows !== 1n) return false;
    await this.#outcome(tx, claim, to.outcome);
    return true;
  }

  /** The attempt is over and has settled nothing; the next one may begin when `afterMs` have passed. */
  async again(tx: Tx, claim: Claim, outcome: AttemptOutcome, afterMs: number): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('executions')
      .set({ retry_at: fromNow(afterMs), changed_at: now })
      .where('call_id', '=', claim.callId)
      .where('fence', '=', claim.fence)
      .where('state', '=', 'executing')
      .executeTakeFirst();
    if (numUpdatedRows !== 1n) return false;
    await this.#outcome(tx, claim, outcome);
    return true;
  }

  /** Claims whose attempt is over: it said so, or its lease and the tool's time-out have both lapsed. Nothing is locked. */
  due(): Promise<ExecutionRow[]> {
    return this.db
      .selectFrom('executions')
      .selectAll()
      .where('state', '=', 'executing')
      .where(sql<boolean>`coalesce(retry_at, lease_until + timeout_ms * interval '1 millisecond') < clock_timestamp()`)
      .orderBy('lease_until')
      .limit(100)
      .execute();
  }

  find(callId: string): Promise<ExecutionRow | undefined> {
    return this.db.selectFrom('executions').selectAll().where('call_id', '=', callId).executeTakeFirst();
  }

  /** Locks the row. @returns the claim when it is in doubt and was settled now. */
  async settle(tx: Tx, callId: string): Promise<{ settled: boolean; row: ExecutionRow } | undefined> {
    const row = await tx
      .selectFrom('executions')
      .selectAll()
      .where('call_id', '=', callId)
      .forUpdate()
      .executeTakeFirst();
    if (row?.state !== 'in-doubt') return row && { settled: false, row };
    await tx
      .updateTable('executions')
      .set({ state: 'closed', doubt_reason: null, changed_at: now })
      .where('call_id', '=', callId)
      .execute();
    return { settled: true, row };
  }

  inDoubt(spaces: readonly string[]): Promise<ExecutionRow[]> {
    if (spaces.length === 0) return Promise.resolve([]);
    return this.db
      .selectFrom('executions')
      .selectAll()
      .where('state', '=', 'in-doubt')
      .where('space_id', 'in', [...spaces])
      .orderBy('changed_at')
      .limit(500)
      .execute();
  }

  /** Whether it is still before a moment, by the database's clock at this very statement. */
  async isBefore(moment: string): Promise<boolean> {
    const { rows } = await sql<{ before: boolean }>`
      select clock_timestamp() < ${moment}::timestamptz as before`.execute(this.db);
    return rows[0]?.before === true;
  }

  /** Milliseconds since a moment by the database's clock, which is the one that deadlines are judged by. */
  async msSince(moment: string): Promise<number> {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from clock_timestamp() - ${moment}::timestamptz) * 1000)::float8 as ms`.execute(this.db);
    return rows[0]?.ms ?? Number.POSITIVE_INFINITY;
  }

  async #begin(tx: Tx, { callId, attempt, fence }: Claim, engine: string): Promise<void> {
    await tx
      .insertInto('attempts')
      .values({ call_id: callId, attempt, fence, engine, ended_at: null, outcome: null })
      .execute();
  }

  async #outcome(tx: Tx, claim: Claim, outcome: AttemptOutcome): Promise<void> {
    await tx
      .updateTable('attempts')
      .set({ outcome, ended_at: now })
      .where('fence', '=', claim.fence)
      .where('ended_at', 'is', null)
      .execute();
  }
}
