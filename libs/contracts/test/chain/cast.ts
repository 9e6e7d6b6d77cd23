import type { HoldpointEvent } from '../../src/index.js';
import { CallMaker, RunMaker, TaskMaker } from './make.js';

export type Events = HoldpointEvent[];

export const run = new RunMaker('run');
/** A run around calls: what a call needs so that nothing else is amiss. */
export const within = (...events: Events): Events => [run.queued(), run.started(), ...events, run.completed('ok')];
/** A task that is taken up at once and done. */
export const done = (task: TaskMaker): Events => {
  const r = task.run(`run-${task.id}`);
  return [task.created(), task.ready(), r.queued(), r.started(), r.completed('ok'), task.completed(r.id)];
};
export const waking = (call: CallMaker, says: Parameters<typeof TaskMaker.waking>[2]) =>
  done(TaskMaker.waking(`wake-${call.id}`, call, says));

export const call = new CallMaker('call', run);
export const read = new CallMaker('read', run, { hint: 'read', tool: 'FileRW', action: 'read' });
export const keyed = new CallMaker('keyed', run, { executionClass: 'keyed' });
export const pending = (c = call): Events => within(c.proposed(), c.verdict('approve'), c.staged());
export const approved = (c = call): Events => [...pending(c), c.decided('approved')];
export const claimed = (c = call): Events => [...approved(c), c.started(true)];
export const auto = (c = call): Events => within(c.proposed(), c.verdict('auto'), c.started(false));

export const task = new TaskMaker('task');
export const taskRun = task.run('task-run');
export const offered: Events = [task.created(), task.ready()];
export const running: Events = [...offered, taskRun.queued(), taskRun.started()];
export const secondRun = task.run('second-run', 2);
/** A run of the same conversation. */
export const rival = new RunMaker('rival');

/** The same event, told with other data. */
export function retell<E extends HoldpointEvent>(e: E, data: Partial<E['data']>): E {
  return { ...e, data: { ...e.data, ...data } };
}

export function without<E extends HoldpointEvent>(e: E, field: string): E {
  const { [field]: _, ...data } = e.data as Record<string, unknown>;
  return { ...e, data } as unknown as E;
}
