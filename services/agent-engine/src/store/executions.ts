import type { CallRef } from '@holdpoint/contracts';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Database } from './schema.js';

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

type Row = Selectable<Database['executions']>;
export const claimOf = (r: Row): Claim => ({
  callId: r.call_id,
  spaceId: r.space_id,
  runId: r.run_id,
  call: JSON.parse(r.ref) as CallRef,
  held: r.held,
  attempt: r.attempt,
  fence: r.fence,
});

/**
 * The claims. One row a call, and never a second: whoever inserts it may try the effect, everybody else may not.
 * A row that is not `executing` says why nobody may (charter, section 6; guarantee G4).
 */
export class Executions {
  constructor(private readonly db: Kysely<Database>) {}

  /** @returns false when the call was claimed, refused or abandoned before. */
  async take(
    tx: Transaction<Database>,
    claim: Claim,
    how: { state: 'executing' | 'refused' | 'abandoned'; leaseMs: number; timeoutMs: number },
  ): Promise<boolean> {
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
        lease_until: sql<Date>`clock_timestamp() + ${how.leaseMs} * interval '1 millisecond'`,
        timeout_ms: how.timeoutMs,
        doubt_reason: null,
      })
      .onConflict((oc) => oc.column('call_id').doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }

  /** Asked right before the effect. After the lease the effect must not begin: a sweeper may already call it in doubt. */
  async leased(claim: Claim): Promise<boolean> {
    const row = await this.db
      .selectFrom('executions')
      .select(sql<boolean>`lease_until > clock_timestamp()`.as('leased'))
      .where('call_id', '=', claim.callId)
      .where('fence', '=', claim.fence)
      .where('state', '=', 'executing')
      .executeTakeFirst();
    return row?.leased === true;
  }

  /** @returns false when the attempt was fenced out: its outcome is a person's to settle. */
  async end(
    tx: Transaction<Database>,
    claim: Claim,
    to: { state: 'closed' } | { state: 'in-doubt'; reason: 'tool-answered-unknown' | 'lease-lapsed' },
  ): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('executions')
      .set({
        state: to.state,
        doubt_reason: to.state === 'in-doubt' ? to.reason : null,
        changed_at: sql`clock_timestamp()`,
      })
      .where('call_id', '=', claim.callId)
      .where('fence', '=', claim.fence)
      .where('state', '=', 'executing')
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /** Claims whose lease and tool time-out have both lapsed, locked for the transaction. */
  async lapsed(tx: Transaction<Database>): Promise<Claim[]> {
    const rows = await tx
      .selectFrom('executions')
      .selectAll()
      .where('state', '=', 'executing')
      .where(sql<boolean>`lease_until + timeout_ms * interval '1 millisecond' < clock_timestamp()`)
      .limit(100)
      .forUpdate()
      .skipLocked()
      .execute();
    return rows.map(claimOf);
  }

  find(callId: string): Promise<Row | undefined> {
    return this.db.selectFrom('executions').selectAll().where('call_id', '=', callId).executeTakeFirst();
  }

  /** Locks the row. @returns the claim when it is in doubt and was settled now. */
  async settle(tx: Transaction<Database>, callId: string): Promise<{ settled: boolean; row: Row } | undefined> {
    const row = await tx
      .selectFrom('executions')
      .selectAll()
      .where('call_id', '=', callId)
      .forUpdate()
      .executeTakeFirst();
    if (row?.state !== 'in-doubt') return row && { settled: false, row };
    await tx
      .updateTable('executions')
      .set({ state: 'closed', doubt_reason: null, changed_at: sql`clock_timestamp()` })
      .where('call_id', '=', callId)
      .execute();
    return { settled: true, row };
  }

  inDoubt(spaces: readonly string[]): Promise<Row[]> {
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
}
