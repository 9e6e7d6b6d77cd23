import type { Stored } from '@holdpoint/eventing';
import type { Kysely, Transaction } from 'kysely';
import { decisionRowOf, judgedRowOf } from '../domain/decision-row.js';
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

  /** @param judged the call, and what was believed of its tool where the verdict that stands in the stream does not say */
  async add(
    tx: Transaction<PolicyDatabase>,
    verdict: Pick<Stored<'policy.decided'>, 'seq' | 'event'>,
    judged: StatedTool,
  ): Promise<void> {
    const { seq, event } = verdict;
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('decisions')
      .values(decisionRowOf(event, seq))
      .onConflict((c) => c.column('call_id').doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 1n) await judgedCalls.add(tx, judgedRowOf(event, judged));
  }
}
