import type { CallRef, Hint, Sealed } from '@holdpoint/contracts';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { WrittenCall } from '../domain/conversation.js';
import type { Database } from './schema.js';

export type OpenCall = Selectable<Database['calls']>;

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

  /** A call that a person proposes in place of another one of the same run, behind all calls of its round. */
  async writeAnew(tx: Transaction<Database>, callId: string, anewOf: string): Promise<void> {
    const old = await tx.selectFrom('calls').selectAll().where('call_id', '=', anewOf).executeTakeFirstOrThrow();
    const { last } = await tx
      .selectFrom('calls')
      .select((e) => e.fn.max('position').as('last'))
      .where('run_id', '=', old.run_id)
      .where('step', '=', old.step)
      .executeTakeFirstOrThrow();
    const { run_id, space_id, step } = old;
    await tx
      .insertInto('calls')
      .values({
        call_id: callId,
        run_id,
        space_id,
        step,
        position: last + 1,
        provider_call_id: callId,
        ref: null,
        hint: null,
        answer: null,
        anew_of: anewOf,
      })
      .execute();
  }

  /** Takes up the calls proposed anew that nobody follows, or that an engine has followed for longer than `afterMs`. */
  followAnew(afterMs: number): Promise<OpenCall[]> {
    return this.db
      .updateTable('calls')
      .set({ followed_at: sql<Date>`clock_timestamp()` })
      .where('anew_of', 'is not', null)
      .where('answer', 'is', null)
      .where((e) =>
        e.or([
          e('followed_at', 'is', null),
          e('followed_at', '<', sql<Date>`clock_timestamp() - ${afterMs} * interval '1 millisecond'`),
        ]),
      )
      .returningAll()
      .execute();
  }

  async unfollow(callId: string): Promise<void> {
    await this.db.updateTable('calls').set({ followed_at: null }).where('call_id', '=', callId).execute();
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
