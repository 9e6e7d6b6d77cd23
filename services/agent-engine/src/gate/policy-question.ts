import {
  type CallRef,
  type Hint,
  type PolicyCheckReply,
  type PolicyCheckRequest,
  policyCheckReply,
} from '@holdpoint/contracts';
import type { serviceClient } from '@holdpoint/runtime';

/** The second question to policy, right before a claim. Fails closed: no answer throws, and no claim is made. */
export class PolicyQuestion {
  constructor(private readonly policy: ReturnType<typeof serviceClient>) {}

  ask(
    { spaceId, callId }: { spaceId: string; callId: string },
    call: CallRef,
    { hint, scope }: { hint: Hint; scope: 'user' | 'admin' },
  ): Promise<PolicyCheckReply> {
    const { agent, principal, server, tool, action } = call;
    const question: PolicyCheckRequest = {
      moment: 'claim',
      callId,
      spaceId,
      agent,
      principal,
      server,
      tool,
      action,
      hint,
      scope,
      origin: 'builtin',
    };
    return this.policy.post('/internal/policy/check', question, policyCheckReply);
  }
}
