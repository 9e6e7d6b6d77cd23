import { type Principal, type TaskState, taskWork } from '@holdpoint/contracts';
import type { Task } from './task.js';

/** A task as its row has it. */
export interface TaskRow {
  task_id: string;
  space_id: string;
  kind: 'wake-up' | 'prompt';
  call_id: string | null;
  conversation_id: string;
  agent: string;
  /** The contract's TaskWork as JSON text; its content is sealed. */
  work: string;
  created_by_kind: Principal['kind'];
  created_by_id: string;
  state: TaskState;
  attempt: number;
  attempt_limit: number;
  due_at: Date;
  lease_until: Date | null;
  run_id: string | null;
  reason: string | null;
  cancelled_by_kind: Principal['kind'] | null;
  cancelled_by_id: string | null;
  traceparent: string | null;
  created_at: Date;
  updated_at: Date;
}

const identityOf = (t: Task) => ({
  task_id: t.id,
  space_id: t.spaceId,
  kind: t.work.wakeUp ? ('wake-up' as const) : ('prompt' as const),
  call_id: t.work.wakeUp?.callId ?? null,
  conversation_id: t.work.conversationId,
  agent: t.work.agent,
  work: JSON.stringify(t.work),
  created_by_kind: t.createdBy.kind,
  created_by_id: t.createdBy.id,
  traceparent: t.traceparent,
  created_at: t.createdAt,
});

export const stateOf = (t: Task) => ({
  state: t.state,
  attempt: t.attempt,
  attempt_limit: t.attemptLimit,
  due_at: t.dueAt,
  lease_until: t.leaseUntil,
  run_id: t.runId,
  reason: t.reason,
  cancelled_by_kind: t.cancelledBy?.kind ?? null,
  cancelled_by_id: t.cancelledBy?.id ?? null,
  updated_at: t.updatedAt,
});

export const rowOf = (t: Task): TaskRow => ({ ...identityOf(t), ...stateOf(t) });

export const toTask = (r: TaskRow): Task => ({
  id: r.task_id,
  spaceId: r.space_id,
  work: taskWork.parse(JSON.parse(r.work)),
  createdBy: { kind: r.created_by_kind, id: r.created_by_id },
  traceparent: r.traceparent,
  state: r.state,
  attempt: r.attempt,
  attemptLimit: r.attempt_limit,
  dueAt: new Date(r.due_at),
  leaseUntil: r.lease_until === null ? null : new Date(r.lease_until),
  runId: r.run_id,
  reason: r.reason,
  cancelledBy:
    r.cancelled_by_kind === null || r.cancelled_by_id === null
      ? null
      : { kind: r.cancelled_by_kind, id: r.cancelled_by_id },
  createdAt: new Date(r.created_at),
  updatedAt: new Date(r.updated_at),
});
