import type { EventData, HoldpointEvent, Principal, Sealed } from '@holdpoint/contracts';

/** A call has at most one wake-up: its task id derives from the call id (charter, section 7). */
export const wakeUpTaskId = (callId: string): string => `wake-${callId}`;

const TASKBOARD: Principal = { kind: 'service', id: 'taskboard' };

/** What the decision on a call said, when it could be read; tool.executed does not repeat it. */
export interface Approval {
  number: number;
  by: Principal | null;
  /** What the approver said, sealed. */
  reason: Sealed | null;
}

/**
 * The task that tells an agent what its released call came to. Null for a call that nobody held (its run got the result
 * itself) and for one that was cancelled (nobody waits for it).
 */
export function wakeUpAfterExecution(
  event: HoldpointEvent<'tool.executed'>,
  approval: Approval | null,
): EventData<'task.created'> | null {
  const { call, status, held, cancelled, reason, result, settledBy } = event.data;
  if (!held || cancelled) return null;
  return wakeUp(event, call, {
    number: approval?.number ?? null,
    outcome: status === 'Denied' ? 'denied' : 'executed',
    status,
    settled: settledBy !== undefined,
    reasonCode: reason ?? null,
    by: settledBy ?? approval?.by ?? null,
    result,
    reason: approval?.reason ?? null,
  });
}

/**
 * The task that tells an agent that its call will not happen. Null for an approval (the execution wakes the agent) and for a
 * revision (the revised call takes this one's place and wakes the agent in its turn).
 */
export function wakeUpAfterDecision(event: HoldpointEvent<'approval.decided'>): EventData<'task.created'> | null {
  const { call, number, decision, cause, by, reason } = event.data;
  if (decision === 'approved' || cause === 'revised') return null;
  return wakeUp(event, call, {
    number,
    outcome: decision,
    status: null,
    settled: false,
    reasonCode: cause,
    by,
    result: null,
    reason,
  });
}

type WakeUpFields = Omit<NonNullable<EventData<'task.created'>['work']['wakeUp']>, 'callId' | 'tool' | 'action'>;

function wakeUp(
  cause: HoldpointEvent<'tool.executed' | 'approval.decided'>,
  call: EventData<'tool.executed'>['call'],
  fields: WakeUpFields,
): EventData<'task.created'> {
  return {
    work: {
      conversationId: call.conversationId,
      agent: call.agent,
      principal: call.principal,
      wakeUp: { callId: cause.subject, tool: call.tool, action: call.action, ...fields },
    },
    createdBy: TASKBOARD,
    dueAt: cause.time,
  };
}
