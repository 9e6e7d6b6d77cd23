import type { Stored } from '@holdpoint/eventing';
import type { Kysely, Transaction } from 'kysely';
import type { StatedTool } from '../domain/tool-facts.js';
import { judgedCalls } from './judged-calls.js';
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

  /** @param judged what is believed of the call's tool, kept with the verdict that stands in the stream */
  async add(
    tx: Transaction<PolicyDatabase>,
    verdict: Pick<Stored<'policy.decided'>, 'seq' | 'event'>,
    judged: StatedTool,
  ): Promise<void> {
    const { seq, event } = verdict;
    const at = new Date(event.time);
    const { numInsertedOrUpdatedRows } = await tx
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
        decided_at: at,
      })
      .onConflict((c) => c.column('call_id').doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 1n)
      await judgedCalls.add(tx, event.subject, event.spaceid, at, judged, event.data.flags);
  }
}
