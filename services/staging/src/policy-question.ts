import { type CastVote, type PolicyCheckReply, policyCheckReply } from '@holdpoint/contracts';
import { Refusal, type ServiceClient } from '@holdpoint/runtime';
import { contextOf } from './facts.js';
import type { FrozenCall } from './store/frozen-calls.js';

/** Asks policy again, at the moment a person decides. Fails closed: without a usable answer nothing is decided. */
export class PolicyQuestion {
  constructor(private readonly policy: ServiceClient) {}

  /** @param votes the approvals that count, the one that is being decided included
   *  @throws Refusal `staging.policy-unavailable` */
  async ask(c: FrozenCall, votes: CastVote[]): Promise<PolicyCheckReply> {
    const { callId, spaceId, agent, principal, server, tool, action } = contextOf(c);
    const question = { callId, spaceId, agent, principal, server, tool, action };
    const { hint, scope, origin } = c;
    try {
      return await this.policy.post(
        '/internal/policy/check',
        { moment: 'decision', ...question, hint, scope, origin, votes },
        policyCheckReply,
      );
    } catch (cause) {
      throw new Refusal(
        'unavailable',
        'staging.policy-unavailable',
        'Policy does not answer, so nothing was decided and the call still waits. Approve it again in a moment.',
        { cause },
      );
    }
  }
}
