import type { Identity, SettleRequest } from '@holdpoint/contracts';
import { newEvent, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { Refusal } from '@holdpoint/runtime';
import type { Kysely } from 'kysely';
import { Wording } from '../agents.js';
import type { Claim, Executions } from '../store/executions.js';
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

  /** @throws Refusal `engine.call-not-in-doubt`, with the state that the call is in. */
  async settle(claim: Claim, who: Identity, said: SettleRequest): Promise<void> {
    const note = said.note ?? this.wording.of(claim.call.agent).settled(said.happened);
    const { box } = await this.content.seal(placeOf(claim), 'result', note, new Uint8Array());
    const executed = newEvent('tool.executed', {
      spaceId: claim.spaceId,
      entityId: claim.callId,
      runId: claim.runId,
      data: {
        call: claim.call,
        status: said.happened ? 'Ok' : 'Error',
        held: claim.held,
        reason: said.happened ? 'settled.happened' : 'settled.did-not-happen',
        result: box,
        attempt: claim.attempt,
        settledBy: { kind: who.kind, id: who.id },
        cancelled: false,
        durationMs: 0,
      },
    });
    await this.db.transaction().execute(async (tx) => {
      const found = await this.executions.settle(tx, claim.callId);
      if (!found?.settled)
        throw new Refusal(
          'conflict',
          'engine.call-not-in-doubt',
          `This call is ${found?.row.state ?? 'unknown'}; only a call in doubt can be settled. Nothing was changed.`,
          { extras: { state: found?.row.state, changedAt: found?.row.changed_at.toISOString() } },
        );
      await this.outbox.add(tx, executed);
    });
    this.relay.poke();
  }
}
