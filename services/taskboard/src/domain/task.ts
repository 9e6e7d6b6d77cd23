import type { HoldpointEvent, Principal, TaskState, TaskWork } from '@holdpoint/contracts';

/** Attempts that a task gets before it is dead; a person who retries it grants as many again (charter, section 7). */
export const ATTEMPTS = 5;

/** A task as the stream tells it, but for the lease, which may lapse without an event. */
export interface Task {
  id: string;
  spaceId: string;
  work: TaskWork;
  createdBy: Principal;
  /** W3C trace context of what brought it about; its runs go on with it. */
  traceparent: string | null;
  state: TaskState;
  /** Never used again by this task: the engine has at most one run a task and attempt. */
  attempt: number;
  attemptLimit: number;
  dueAt: Date;
  /** Set while the task is offered, and only then. */
  leaseUntil: Date | null;
  /** Run of the present attempt, once the engine has told us. */
  runId: string | null;
  reason: string | null;
  /** Who cancelled it; null in every other state. */
  cancelledBy: Principal | null;
  createdAt: Date;
  updatedAt: Date;
}

/** The events that make a task what it is. `run.completed` is not one of them: it makes us decide. */
export type TaskEvent = HoldpointEvent<
  | 'task.created'
  | 'task.ready'
  | 'task.completed'
  | 'task.retried'
  | 'task.died'
  | 'task.cancelled'
  | 'run.queued'
  | 'run.started'
>;

const UNFINISHED: readonly TaskState[] = ['open', 'offered', 'accepted', 'running'];
export const isUnfinished = (task: Task): boolean => UNFINISHED.includes(task.state);
/** What a person may still end: a dead task waits for one. */
export const isCancellable = (task: Task): boolean => isUnfinished(task) || task.state === 'dead';

/** The task after `event`. An event of another attempt, or one that would lead backwards, changes nothing. */
export function evolve(task: Task, event: Exclude<TaskEvent, HoldpointEvent<'task.created'>>): Task {
  const at = new Date(event.time);
  const to = (state: TaskState, change: Partial<Task> = {}): Task => ({
    ...task,
    leaseUntil: null,
    ...change,
    state,
    updatedAt: at,
  });
  switch (event.type) {
    case 'task.ready': {
      const { attempt, leaseUntil } = event.data;
      if (attempt !== task.attempt || !['open', 'offered'].includes(task.state)) return task;
      return to('offered', { leaseUntil: new Date(leaseUntil) });
    }
    case 'run.queued':
      // Open as well: the lease may have lapsed while this event was under way, and the run exists all the same.
      if (!isOfAttempt(task, event) || !['open', 'offered'].includes(task.state)) return task;
      return to('accepted', { runId: event.subject });
    case 'run.started':
      if (!isOfAttempt(task, event) || !['open', 'offered', 'accepted'].includes(task.state)) return task;
      return to('running', { runId: event.subject });
    case 'task.completed':
      if (event.data.attempt !== task.attempt || !isUnfinished(task)) return task;
      return to('done', { runId: event.data.runId, reason: null });
    case 'task.retried': {
      const { attempt, dueAt, reason, by } = event.data;
      if (attempt !== task.attempt + 1 || !isCancellable(task)) return task;
      const attemptLimit = by === null ? task.attemptLimit : task.attempt + ATTEMPTS;
      return to('open', { attempt, attemptLimit, dueAt: new Date(dueAt), runId: null, reason });
    }
    case 'task.died':
      if (event.data.attempts !== task.attempt || !isUnfinished(task)) return task;
      // as with `task.completed`: whether the run's own events were heard before must not matter
      return to('dead', { reason: event.data.reason, runId: event.data.runId ?? task.runId });
    case 'task.cancelled':
      // Cancelled once; repeated only to name the run.
      if (task.state === 'cancelled' && task.runId === null) return { ...task, runId: event.data.runId };
      if (!isCancellable(task)) return task;
      return to('cancelled', {
        runId: event.data.runId ?? task.runId,
        reason: event.data.reason,
        cancelledBy: event.data.by,
      });
  }
}

/** The task that `task.created` begins. */
export function created(event: HoldpointEvent<'task.created'>): Task {
  const at = new Date(event.time);
  return {
    id: event.subject,
    spaceId: event.spaceid,
    work: event.data.work,
    createdBy: event.data.createdBy,
    traceparent: event.traceparent ?? null,
    state: 'open',
    attempt: 1,
    attemptLimit: ATTEMPTS,
    dueAt: new Date(event.data.dueAt),
    leaseUntil: null,
    runId: null,
    reason: null,
    cancelledBy: null,
    createdAt: at,
    updatedAt: at,
  };
}

/** Whether a run works on the present attempt of this task, in its space. */
export function isOfAttempt(task: Task, run: HoldpointEvent<'run.queued' | 'run.started' | 'run.completed'>): boolean {
  return run.data.taskId === task.id && run.spaceid === task.spaceId && run.data.attempt === task.attempt;
}
