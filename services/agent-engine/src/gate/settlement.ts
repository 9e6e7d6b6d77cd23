import type { Identity, SettleRequest } from '@holdpoint/contracts';
import { newEvent, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { ContentDestroyed, inTraceOf, Refusal } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import { Wording } from '../agents.js';
import { type Claim, claimOf, type Executions } from '../store/executions.js';
import type { Database } from '../store/schema.js';
import type { CallContent } from './content.js';
import { placeOf } from './effects.js';

/** A person says what became of a call in doubt. Time never does (charter, section 6). */
export class Settlement {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly executions: Executions,
    private readonly content: CallContent,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    private readonly wording: Wording,
  ) {}

  /**
   * @param anew the call that is proposed in its place, ordered in the same transaction; the agent is told, so that it
   *   does not propose it once more
   * @throws Refusal `engine.call-not-in-doubt`, with the state that the call is in.
   */
  async settle(
    claim: Claim,
    who: Identity,
    said: SettleRequest,
    anew?: { callId: string; order: (tx: Transaction<Database>) => Promise<void> },
  ): Promise<void> {
    const words = this.wording.of(claim.call.agent);
    const note = said.note ?? words.settled(said.happened);
    const result = await this.#seal(claim, anew ? `${note} ${words.proposedAnew(anew.callId)}` : note);
    await this.db.transaction().execute(async (tx) => {
      const found = await this.executions.settle(tx, claim.callId);
      if (!found?.settled)
        throw new Refusal(
          'conflict',
          'engine.call-not-in-doubt',
          `This call is ${found?.row.state ?? 'unknown'}; only a call in doubt can be settled. Nothing was changed.`,
          { extras: { state: found?.row.state, changedAt: found?.row.changed_at.toISOString() } },
        );
      const { callId, spaceId, runId, call, held, attempt } = claimOf(found.row);
      const executed = () =>
        newEvent('tool.executed', {
          spaceId,
          entityId: callId,
          runId,
          data: {
            call,
            status: said.happened ? 'Ok' : 'Error',
            held,
            reason: said.happened ? 'settled.happened' : 'settled.did-not-happen',
            result,
            attempt,
            settledBy: { kind: who.kind, id: who.id },
            cancelled: false,
            durationMs: 0,
          },
        });
      const named = { 'holdpoint.call.id': callId, 'holdpoint.space.id': spaceId };
      await inTraceOf(found.row.traceparent, 'settle call', named, () => this.outbox.add(tx, executed()));
      await anew?.order(tx);
    });
    this.relay.poke();
  }

  /** Null when the content of the conversation was erased: what became of the call is said all the same. */
  async #seal(claim: Claim, text: string) {
    return this.content.seal(placeOf(claim), 'result', text, new Uint8Array()).then(
      (sealed) => sealed.box,
      (error: unknown) => {
        if (error instanceof ContentDestroyed) return null;
        throw error;
      },
    );
  }
}
