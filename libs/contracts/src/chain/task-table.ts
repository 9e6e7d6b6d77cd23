import type { HoldpointEvent } from '../events/catalogue.js';

export type RunEvent = HoldpointEvent<'run.queued' | 'run.started' | 'run.completed'>;
export type TaskEvent = HoldpointEvent<
  'task.created' | 'task.ready' | 'task.completed' | 'task.retried' | 'task.died' | 'task.cancelled'
>;

export type RunState = 'queued' | 'running' | 'over';
export type TaskState = 'open' | 'offered' | 'done' | 'dead' | 'cancelled';

/** Charter, section 7, the engine's rows. A run that never started can only have been cancelled or have failed. */
export const runTable: Record<RunState, Readonly<Record<string, RunState>>> = {
  queued: {
    'run.started': 'running',
    'run.completed cancelled': 'over',
    'run.completed failed': 'over',
  },
  running: {
    'run.completed ok': 'over',
    'run.completed failed': 'over',
    'run.completed interrupted': 'over',
    'run.completed cancelled': 'over',
  },
  over: {},
};

/**
 * Charter, section 7, the taskboard's rows. Accepted and running are told by the run. An offer lapses without an event,
 * and may be made again before the taskboard has heard that it was accepted. A cancellation may cross a run on its way,
 * and is then told again with the run's name.
 */
export const taskTable: Record<TaskState, Readonly<Record<string, TaskState>>> = {
  open: { 'task.ready': 'offered', 'task.cancelled': 'cancelled' },
  offered: {
    'task.ready': 'offered',
    'task.completed': 'done',
    'task.retried': 'open',
    'task.died': 'dead',
    'task.cancelled': 'cancelled',
  },
  done: {},
  dead: { 'task.retried by a person': 'open', 'task.cancelled': 'cancelled' },
  cancelled: { 'task.cancelled': 'cancelled' },
};

export const runRow = (e: RunEvent): string => (e.type === 'run.completed' ? `${e.type} ${e.data.status}` : e.type);

export const taskRow = (e: TaskEvent): string =>
  e.type === 'task.retried' && e.data.by !== null ? `${e.type} by a person` : e.type;
