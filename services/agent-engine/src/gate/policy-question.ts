import { type CallRef, type Hint, type PolicyCheckReply, policyCheckReply } from '@holdpoint/contracts';
import type { serviceClient } from '@holdpoint/runtime';

/** The second question to policy, right before a claim. Fails closed: no answer throws, and no claim is made. */
export class PolicyQuestion {
  constructor(private readonly policy: ReturnType<typeof serviceClient>) {}

  ask(
    at: { spaceId: string; callId: string },
    call: CallRef,
    action: { hint: Hint; scope: 'user' | 'admin' },
  ): Promise<PolicyCheckReply> {
    const { agent, principal, server, tool } = call;
    return this.policy.post(
      '/internal/policy/check',
      { moment: 'claim', ...at, agent, principal, server, tool, action: call.action, ...action, origin: 'builtin' },
      policyCheckReply,
    );
  }
}
