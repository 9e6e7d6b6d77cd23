import type { DecisionRequest, Identity, WithdrawRequest } from '@holdpoint/contracts';
import { ContentDestroyed, requireRole } from '@holdpoint/runtime';
import { Logger } from '@nestjs/common';
import { accessible } from './access.js';
import { Closer } from './closer.js';
import { boxOf, contextOf } from './facts.js';
import { ContentDamaged, FrozenContent } from './frozen-content.js';
import * as refusal from './refusals.js';
import { Release } from './release.js';
import { type FrozenCall, FrozenCalls } from './store/frozen-calls.js';

/** The one decision on a held call: by a person who may, on what they saw, in time, and only once (guarantees G5 to G7). */
export class Decisions {
  readonly #log = new Logger('Decisions');

  constructor(
    private readonly calls: FrozenCalls,
    private readonly content: FrozenContent,
    private readonly release: Release,
    private readonly closer: Closer,
  ) {}

  /**
   * The call as it is after the decision, or after a vote that does not yet release it: stored once this returns, its event
   * follows.
   * @throws Refusal `staging.*`: the decision did not count, and its text says why and what to do
   */
  async decide(who: Identity, callId: string, request: DecisionRequest): Promise<FrozenCall> {
    const call = accessible(who, await this.calls.find(callId));
    await this.release.requireVoter(who, call);
    if (call.digest !== request.digest) throw refusal.digestMismatch(call);
    if (call.status !== 'pending') throw refusal.alreadyClosed(call);
    if (call.overdue) throw refusal.alreadyClosed((await this.closer.close(callId, null)).call);
    return request.decision === 'reject'
      ? this.#close(who, call, 'rejected', request.reason)
      : this.#approve(who, call, request);
  }

  /**
   * Takes a held call back: whoever it acts for may, and owners and admins. Nothing is released by it, so neither policy
   * nor a digest is asked for.
   * @throws Refusal `staging.*`, `forbidden`, `not-found`
   */
  async withdraw(who: Identity, callId: string, request: WithdrawRequest): Promise<FrozenCall> {
    const call = accessible(who, await this.calls.find(callId));
    const own = who.kind === 'person' && call.principal_kind === 'person' && call.principal_id === who.id;
    if (!own) requireRole(who, call.space_id, 'owner', 'admin');
    return this.#close(who, call, 'withdrawn', request.reason);
  }

  async #close(
    who: Identity,
    call: FrozenCall,
    status: 'rejected' | 'withdrawn',
    reason: string | undefined,
  ): Promise<FrozenCall> {
    const { won, call: after } = await this.closer.close(call.call_id, {
      status,
      by: who.id,
      cause: 'person',
      decidedUnder: call.policy_version,
      reason: await this.#sealed(call, reason),
    });
    if (!won) throw refusal.alreadyClosed(after);
    return after;
  }

  async #approve(who: Identity, call: FrozenCall, { digest, reason }: DecisionRequest): Promise<FrozenCall> {
    await this.#prove(call);
    return this.release.approve(who, call, { digest, reason: await this.#sealed(call, reason) });
  }

  /** What would be released is, byte for byte, what the digest was made over. */
  async #prove(call: FrozenCall): Promise<void> {
    try {
      await this.content.argumentsOf(contextOf(call), boxOf(call.frozen));
    } catch (err) {
      if (err instanceof ContentDestroyed) throw refusal.contentDestroyed(call, err);
      if (!(err instanceof ContentDamaged)) throw err;
      this.#log.error(`ALARM: call ${call.call_id} cannot be released: ${err.message}`);
      throw refusal.contentDamaged(call, err);
    }
  }

  async #sealed(call: FrozenCall, reason: string | undefined) {
    if (reason === undefined || reason === '') return null;
    const at = { spaceId: call.space_id, callId: call.call_id, kid: boxOf(call.frozen).kid };
    return this.content.sealReason(at, reason).catch((err: unknown) => {
      throw err instanceof ContentDestroyed ? refusal.contentDestroyed(call, err) : err;
    });
  }
}
