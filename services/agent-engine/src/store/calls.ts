import type { CallRef, Hint, Sealed } from '@holdpoint/contracts';
import type { Kysely, Transaction } from 'kysely';
import type { WrittenCall } from '../domain/conversation.js';
import type { Database } from './schema.js';

/** The calls of a round, from the moment the model wrote them until each has its answer. */
export class Calls {
  constructor(private readonly db: Kysely<Database>) {}

  async write(
    tx: Transaction<Database>,
    run: { runId: string; spaceId: string },
    step: number,
    calls: readonly WrittenCall[],
  ): Promise<void> {
    if (calls.length === 0) return;
    await tx
      .insertInto('calls')
      .values(
        calls.map((c, position) => ({
          call_id: c.callId,
          run_id: run.runId,
          space_id: run.spaceId,
          step,
          position,
          provider_call_id: c.providerCallId,
          ref: null,
          hint: null,
          answer: null,
        })),
      )
      .execute();
  }

  /** Committed before the proposal is published, so that no stored proposal is unknown here. */
  async proposing(callId: string, ref: CallRef, hint: Hint): Promise<void> {
    await this.db
      .updateTable('calls')
      .set({ ref: JSON.stringify(ref), hint })
      .where('call_id', '=', callId)
      .execute();
  }

  async answered(callId: string, answer: Sealed): Promise<void> {
    await this.db
      .updateTable('calls')
      .set({ answer: JSON.stringify(answer) })
      .where('call_id', '=', callId)
      .execute();
  }

  async ofRun(runId: string) {
    const rows = await this.db
      .selectFrom('calls')
      .selectAll()
      .where('run_id', '=', runId)
      .orderBy('step')
      .orderBy('position')
      .execute();
    return rows.map((r) => ({
      ...r,
      ref: r.ref === null ? null : (JSON.parse(r.ref) as CallRef),
      answer: r.answer === null ? null : (JSON.parse(r.answer) as Sealed),
    }));
  }
}
