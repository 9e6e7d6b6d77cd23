import type { EventData, HoldpointEvent, Principal } from '@holdpoint/contracts';
import { ATTEMPTS, isCancellable, isOfAttempt, isUnfinished, type Task } from './task.js';

/** An event of ours that is decided but has no id and no envelope yet. */
export type Draft = {
  [T in OwnType]: { type: T; data: EventData<T> };
}[OwnType];
type OwnType = 'task.ready' | 'task.completed' | 'task.retried' | 'task.died' | 'task.cancelled';

export interface Backoff {
  /** Wait after the first failed attempt; each further one waits three times as long. */
  baseMs: number;
  maxMs: number;
}

/** How long a task waits after its `failures`-th failed attempt in a row. */
export const backoffMs = (failures: number, { baseMs, maxMs }: Backoff): number =>
  Math.min(maxMs, baseMs * 3 ** (failures - 1));

/** The offer of a due task; null when it is not open or not due. */
export function offer(task: Task, now: Date, leaseMs: number): Draft | null {
  if (task.state !== 'open' || task.dueAt > now) return null;
  const leaseUntil = new Date(now.getTime() + leaseMs).toISOString();
  return { type: 'task.ready', data: { work: task.work, attempt: task.attempt, leaseUntil } };
}

/** What the end of a run means for its task; null when the task has gone on without it. */
export function conclude(task: Task, run: HoldpointEvent<'run.completed'>, now: Date, backoff: Backoff): Draft | null {
  if (!isOfAttempt(task, run) || !isUnfinished(task)) return null;
  const { attempt } = task;
  switch (run.data.status) {
    case 'ok':
      return { type: 'task.completed', data: { attempt, runId: run.subject } };
    case 'cancelled':
      // The run does not say who ended it, and what is unknown is not guessed.
      return {
        type: 'task.cancelled',
        data: { by: { kind: 'unknown', id: 'unknown' }, reason: 'run-cancelled', runId: run.subject },
      };
    case 'failed':
    case 'interrupted': {
      const reason = run.data.reason ?? run.data.status;
      if (attempt >= task.attemptLimit) {
        return { type: 'task.died', data: { attempts: attempt, reason, runId: run.subject } };
      }
      const failures = attempt - (task.attemptLimit - ATTEMPTS);
      const dueAt = new Date(now.getTime() + backoffMs(failures, backoff)).toISOString();
      return { type: 'task.retried', data: { attempt: attempt + 1, dueAt, reason, by: null } };
    }
  }
}

/** A person opens a dead task again; null when it is not dead. */
export function retry(task: Task, by: Principal, now: Date): Draft | null {
  if (task.state !== 'dead') return null;
  const data = { attempt: task.attempt + 1, dueAt: now.toISOString(), reason: 'retried-by-person', by };
  return { type: 'task.retried', data };
}

/** A person ends the task; null when it is over already. */
export function cancel(task: Task, by: Principal): Draft | null {
  if (!isCancellable(task)) return null;
  return { type: 'task.cancelled', data: { by, reason: 'cancelled-by-person', runId: task.runId } };
}

/**
 * A run has begun for a task that was cancelled before anybody knew of that run: cancel again, naming it, or it would go on.
 * Null for any other task.
 */
export function recall(task: Task, run: HoldpointEvent<'run.queued' | 'run.started'>): Draft | null {
  const { cancelledBy: by, reason } = task;
  if (by === null || reason === null || task.runId !== null || !isOfAttempt(task, run)) return null;
  return { type: 'task.cancelled', data: { by, reason, runId: run.subject } };
}
