import { type CastVote, type HoldpointEvent, type Principal, type Sealed, sealed } from '@holdpoint/contracts';
import { newEvent } from '@holdpoint/eventing';
import { inTraceOf } from '@holdpoint/runtime';
import type { FrozenCall } from './store/frozen-calls.js';
import type { Vote } from './store/votes.js';

/** On whose behalf the call was proposed. */
export const requesterOf = (c: FrozenCall): Principal => ({ kind: c.principal_kind, id: c.principal_id });

/** The call as every event about it names it. */
export const callOf = (c: FrozenCall) => ({
  agent: c.agent,
  model: c.model,
  source: c.source,
  principal: requesterOf(c),
  conversationId: c.conversation_id,
  ...(c.task_id === null ? {} : { taskId: c.task_id }),
  server: c.server,
  tool: c.tool,
  action: c.action,
  schemaDigest: c.schema_digest,
  digest: c.digest,
});

/** What the digest binds, with the digest itself. */
export const contextOf = (c: FrozenCall) => ({ callId: c.call_id, spaceId: c.space_id, ...callOf(c) });

export const boxOf = (json: string): Sealed => sealed.parse(JSON.parse(json));

export const callStaged = (c: FrozenCall, causationId: string): HoldpointEvent<'call.staged'> =>
  newEvent('call.staged', {
    spaceId: c.space_id,
    entityId: c.call_id,
    runId: c.run_id,
    causationId,
    traceparent: c.traceparent ?? undefined,
    time: c.staged_at,
    data: {
      call: callOf(c),
      number: c.number,
      hint: c.hint,
      expiresAt: c.expires_at.toISOString(),
      rule: c.rule,
      policyVersion: c.policy_version,
      flags: c.flags,
    },
  });

/**
 * Hands over the decision's event as one of the call's own trace, in which the execution goes on. Whoever decided is in
 * another one, that of their request, or in none; the two are linked.
 */
export const withDecision = (
  c: FrozenCall,
  add: (event: HoldpointEvent<'approval.decided'>) => Promise<void>,
  votes?: readonly CastVote[],
) =>
  inTraceOf(
    c.traceparent,
    'decide call',
    { 'holdpoint.space.id': c.space_id, 'holdpoint.call.id': c.call_id, 'holdpoint.decision': c.status },
    () => add(approvalDecided(c, votes)),
  );

/** Hands over the vote's event, as `withDecision` does that of the decision. */
export const withVote = (c: FrozenCall, vote: Vote, add: (event: HoldpointEvent<'approval.voted'>) => Promise<void>) =>
  inTraceOf(c.traceparent, 'vote on call', { 'holdpoint.space.id': c.space_id, 'holdpoint.call.id': c.call_id }, () =>
    add(approvalVoted(c, vote)),
  );

/** The vote as its row has it. */
const approvalVoted = (c: FrozenCall, v: Vote): HoldpointEvent<'approval.voted'> =>
  newEvent('approval.voted', {
    spaceId: c.space_id,
    entityId: c.call_id,
    runId: c.run_id,
    traceparent: c.traceparent ?? undefined,
    time: v.at,
    data: {
      call: callOf(c),
      number: c.number,
      vote: 'approve',
      by: { kind: 'person', id: v.voter },
      digestSeen: v.digest,
      role: v.role,
      groups: v.groups,
      ...(v.requirements === null ? {} : { requirements: v.requirements }),
      reason: v.reason === null ? null : boxOf(v.reason),
    },
  });

/** The one decision, as the row has it; an approval carries the box that the proposal carried. */
function approvalDecided(c: FrozenCall, votes: readonly CastVote[] = []): HoldpointEvent<'approval.decided'> {
  if (c.status === 'pending' || c.decided_at === null || c.cause === null || c.decided_under === null)
    throw new Error(`call ${c.call_id} is not decided`);
  return newEvent('approval.decided', {
    spaceId: c.space_id,
    entityId: c.call_id,
    runId: c.run_id,
    traceparent: c.traceparent ?? undefined,
    time: c.decided_at,
    data: {
      call: callOf(c),
      number: c.number,
      decision: c.status,
      by: c.decided_by === null ? null : { kind: 'person', id: c.decided_by },
      decidedAt: c.decided_at.toISOString(),
      reason: c.reason === null ? null : boxOf(c.reason),
      cause: c.cause,
      policyVersion: c.decided_under,
      ...(votes.length === 0 ? {} : { votes: [...votes] }),
      ...(c.status === 'approved' ? { frozen: boxOf(c.frozen) } : {}),
    },
  });
}
