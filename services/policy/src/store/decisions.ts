import type { Stored } from '@holdpoint/eventing';
import type { Kysely, Transaction } from 'kysely';
import type { PolicyDatabase } from './schema.js';

/** One row a call: holds the uniqueness of a verdict beyond the stream's window. Follows the stream, never leads it. */
export class Decisions {
  constructor(private readonly db: Kysely<PolicyDatabase>) {}

  async spaceOf(callId: string): Promise<string | null> {
    const row = await this.db
      .selectFrom('decisions')
      .select('space_id')
      .where('call_id', '=', callId)
      .executeTakeFirst();
    return row?.space_id ?? null;
  }

  async add(tx: Transaction<PolicyDatabase>, verdict: Pick<Stored<'policy.decided'>, 'seq' | 'event'>): Promise<void> {
    const { seq, event } = verdict;
    await tx
      .insertInto('decisions')
      .values({
        call_id: event.subject,
        space_id: event.spaceid,
        event_id: event.id,
        stream_seq: seq,
        proposal_seq: event.data.proposalSeq,
        verdict: event.data.verdict,
        would_be: event.data.wouldBe ?? null,
        mode: event.data.mode,
        reason: event.data.reason,
        rule: event.data.rule,
        policy_version: event.data.policyVersion,
        decided_at: new Date(event.time),
      })
      .onConflict((c) => c.column('call_id').doNothing())
      .execute();
  }
}
