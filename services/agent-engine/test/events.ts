import type { EventData, HoldpointEvent, Verdict } from '@holdpoint/contracts';
import { newEvent, type Stored } from '@holdpoint/eventing';

/** What policy would publish on a proposal. */
export function verdictOn(
  p: Stored<'tool.proposed'>,
  verdict: Verdict,
  more: Partial<EventData<'policy.decided'>> = {},
) {
  return newEvent('policy.decided', {
    ...address(p.event),
    data: {
      call: p.event.data.call,
      verdict,
      reason: 'rule',
      rule: 'test',
      policyVersion: 'v1',
      mode: 'enforce',
      flags: [],
      proposalSeq: p.seq,
      ...more,
    },
  });
}

/** What staging would publish when it holds the proposal. */
export function stagingOf(p: Stored<'tool.proposed'>, number: number) {
  const { call, hint } = p.event.data;
  return newEvent('call.staged', {
    ...address(p.event),
    data: {
      call,
      number,
      hint,
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
      rule: 'test',
      policyVersion: 'v1',
      flags: [],
    },
  });
}

/** What staging would publish when a person releases the proposal. */
export function approvalOf(p: Stored<'tool.proposed'>, more: Partial<EventData<'approval.decided'>> = {}) {
  return newEvent('approval.decided', {
    ...address(p.event),
    data: {
      call: p.event.data.call,
      number: 1,
      decision: 'approved',
      by: { kind: 'person', id: 'ada' },
      decidedAt: new Date().toISOString(),
      reason: null,
      cause: 'person',
      policyVersion: 'v1',
      frozen: p.event.data.frozen,
      ...more,
    },
  });
}

const address = (e: HoldpointEvent) => ({
  spaceId: e.spaceid,
  entityId: e.subject,
  callId: e.subject,
  ...(e.runid === undefined ? {} : { runId: e.runid }),
});
