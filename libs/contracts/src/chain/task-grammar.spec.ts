import { describe, expect, it } from '@jest/globals';
import {
  approved,
  auto,
  call,
  claimed,
  done,
  type Events,
  offered,
  pending,
  retell,
  rival,
  run,
  running,
  secondRun,
  task,
  taskRun,
  waking,
  without,
} from '../../test/chain/cast.js';
import { ADA, BOB, RunMaker, stored, TaskMaker } from '../../test/chain/make.js';
import { checkStream } from './check.js';

describe('a task or run that keeps to the table', () => {
  const good: Record<string, Events> = {
    'is a task': done(task),
    'is a task offered again before the acceptance was heard': [
      ...offered,
      taskRun.queued(),
      task.ready(),
      taskRun.started(),
      taskRun.completed('ok'),
      task.completed(taskRun.id),
    ],
    'is a task that fails and is tried again': [
      ...running,
      taskRun.completed('interrupted'),
      task.retried(2),
      task.ready(2),
      secondRun.queued(),
      secondRun.started(),
      secondRun.completed('ok'),
      task.completed(secondRun.id, 2),
    ],
    'is a task that dies and is revived by a person': [
      ...running,
      taskRun.completed('failed'),
      task.died(1),
      task.retried(1, ADA),
      task.ready(2),
      secondRun.queued(),
      secondRun.started(),
      secondRun.completed('failed'),
      task.died(2),
    ],
    'is a task cancelled while its run is on its way': [
      ...offered,
      task.cancelled(),
      taskRun.queued(),
      taskRun.completed('cancelled'),
    ],
    'is a run that fails before it starts': [run.queued(), run.completed('failed')],
    'is a wake-up that leaves the status of a denial out': [
      ...approved(),
      call.executed('Denied', { held: true }),
      ...waking(call, { outcome: 'denied', status: null }),
    ],
    'is a task cancelled while it runs': [...running, task.cancelled(taskRun.id), taskRun.completed('cancelled')],
    'is a task cancelled again to name the run that crossed it': [
      ...offered,
      task.cancelled(),
      taskRun.queued(),
      task.cancelled(taskRun.id),
      taskRun.completed('cancelled'),
    ],
    'has two runs in one conversation whose events crossed in the relay': crossed(),
    'has two runs in one conversation, one after the other': [
      run.queued(),
      rival.queued(),
      run.started(),
      run.completed('ok'),
      rival.started(),
      rival.completed('ok'),
    ],
  };
  it.each(Object.entries(good))('%s', (_name, events) => {
    expect(checkStream(stored(events), { settled: true }).violations).toEqual([]);
  });
});

function crossed(): Events {
  const [first, ended, second] = [run.started(), run.completed('ok'), rival.started()];
  return [run.queued(), rival.queued(), second, first, ended, rival.completed('ok')];
}

describe('a task or run that breaks a rule', () => {
  const executed = call.executed('Ok', { held: true, attempt: 1 });
  const revisedWake = TaskMaker.waking('wake', call, { outcome: 'withdrawn' });
  const wake = TaskMaker.waking('wake', call, { outcome: 'rejected' });
  const rejected = [...pending(), call.decided('rejected')];
  const bad: [code: string, what: string, events: Events][] = [
    ['wake.unfounded', 'a wake-up for a call that never was', [TaskMaker.waking('wake', call, {}).created()]],
    ['wake.unfounded', 'a wake-up for a pending call', [...pending(), wake.created()]],
    ['wake.unfounded', 'a wake-up before the execution', [...claimed(), wake.created()]],
    [
      'wake.unfounded',
      'a wake-up for an automatic call',
      [...auto(), call.executed('Ok', { attempt: 1 }), wake.created()],
    ],
    [
      'wake.unfounded',
      'a wake-up after a revision',
      [...pending(), call.decided('withdrawn', { cause: 'revised' }), revisedWake.created()],
    ],
    [
      'wake.unfounded',
      'two wake-ups',
      [...rejected, wake.created(), TaskMaker.waking('again', call, { outcome: 'rejected' }).created()],
    ],
    [
      'wake.mismatch',
      'a wake-up that says it was executed',
      [...rejected, TaskMaker.waking('wake', call, {}).created()],
    ],
    [
      'wake.mismatch',
      'a wake-up of another conversation',
      [...rejected, new TaskMaker('wake', { ...wake.work, conversationId: 'else' }).created()],
    ],
    [
      'wake.mismatch',
      'a wake-up with another status',
      [...claimed(), executed, TaskMaker.waking('wake', call, { status: 'Error' }).created()],
    ],
    [
      'wake.mismatch',
      'a wake-up that leaves the status of an execution out',
      [...claimed(), executed, TaskMaker.waking('wake', call, { status: null }).created()],
    ],
    [
      'wake.mismatch',
      'a wake-up that names another tool',
      [...rejected, TaskMaker.waking('wake', call, { outcome: 'rejected', tool: 'FTP' }).created()],
    ],
    [
      'wake.mismatch',
      'a wake-up on behalf of another',
      [...rejected, new TaskMaker('wake', { ...wake.work, principal: BOB }).created()],
    ],
    ['wake.missing', 'a held call that wakes nobody', [...claimed(), executed]],
    ['run.missing', 'a call of a run that never was', [call.proposed(), call.abandoned()]],
    ['run.order', 'a start without a queue', [run.started()]],
    ['run.order', 'a second start', [run.queued(), run.started(), run.started()]],
    ['run.order', 'a success that never started', [run.queued(), run.completed('ok')]],
    ['run.order', 'a second end', [run.queued(), run.started(), run.completed('ok'), run.completed('failed')]],
    ['run.order', 'a second queue', [run.queued(), run.queued()]],
    [
      'run.identity',
      'a run that changes its conversation',
      [run.queued(), new RunMaker('run', { conversationId: 'else' }).started()],
    ],
    [
      'run.conversation-busy',
      'two runs of one conversation at once',
      [run.queued(), rival.queued(), run.started(), rival.started(), run.completed('ok')],
    ],
    ['run.task', 'a run of a task that never was', [taskRun.queued()]],
    ['run.task', 'a run before the offer', [task.created(), taskRun.queued()]],
    ['run.task', 'two runs of one attempt', [...offered, taskRun.queued(), task.run('b').queued()]],
    ['run.task', 'a run of an attempt not offered', [...offered, task.run('b', 2).queued()]],
    ['run.task', 'a run of a task that is done', [...done(task), task.run('b').queued()]],
    [
      'run.task',
      'a run in another conversation than the task asks for',
      [...offered, new RunMaker('b', { conversationId: 'else', taskId: 'task', attempt: 1 }).queued()],
    ],
    ['run.task', 'a task run that names no task', [retell(run.queued(), { source: 'task' })]],
    ['run.task', 'a task run without an attempt', [...offered, without(taskRun.queued(), 'attempt')]],
    ['run.task', 'a direct run with an attempt', [retell(run.queued(), { attempt: 1 })]],
    ['run.unfinished', 'a run left alone', [run.queued()]],
    ['task.order', 'an offer of nothing', [task.ready()]],
    ['task.order', 'a second creation', [task.created(), task.created()]],
    ['task.order', 'an end without an offer', [task.created(), task.completed('x')]],
    ['task.order', 'an offer of what is done', [...done(task), task.ready()]],
    ['task.order', 'an offer of what was cancelled', [...offered, task.cancelled(), task.ready()]],
    ['task.order', 'an offer of what is dead', [...running, taskRun.completed('failed'), task.died(1), task.ready(2)]],
    ['task.order', 'a revival of what is not dead', [...offered, task.retried(1, ADA)]],
    ['task.order', 'a revival by nobody', [...running, taskRun.completed('failed'), task.died(1), task.retried(1)]],
    ['task.order', 'a second cancellation that names no run', [...offered, task.cancelled(), task.cancelled()]],
    [
      'task.order',
      'a third cancellation',
      [...offered, task.cancelled(), taskRun.queued(), task.cancelled(taskRun.id), task.cancelled(taskRun.id)],
    ],
    ['task.run', 'an end before the run ended', [...running, task.completed(taskRun.id)]],
    ['task.run', 'an end by another run', [...running, taskRun.completed('ok'), task.completed('else')]],
    ['task.run', 'an end by a run that failed', [...running, taskRun.completed('failed'), task.completed(taskRun.id)]],
    ['task.run', 'a retry of what went well', [...running, taskRun.completed('ok'), task.retried(2)]],
    ['task.run', 'a death of what went well', [...running, taskRun.completed('ok'), task.died(1)]],
    ['task.run', 'a cancellation of another run', [...running, task.cancelled('else')]],
    ['task.attempt', 'an attempt that jumps', [task.created(), task.ready(2)]],
    ['task.attempt', 'an attempt offered anew without a retry', [...offered, task.ready(2)]],
    [
      'task.attempt',
      'an attempt that stands still after a retry',
      [...running, taskRun.completed('failed'), task.retried(2), task.ready(1)],
    ],
    ['task.attempt', 'an end of another attempt', [...running, taskRun.completed('ok'), task.completed(taskRun.id, 2)]],
    ['task.attempt', 'a death with another count', [...running, taskRun.completed('failed'), task.died(5)]],
    ['task.attempt', 'a retry of another attempt', [...running, taskRun.completed('failed'), task.retried(5)]],
    [
      'task.identity',
      'other work than at its creation',
      [task.created(), new TaskMaker('task', { agent: 'else' }).ready()],
    ],
    ['task.identity', 'another space than at its creation', [task.created(), { ...task.ready(), spaceid: 'else' }]],
    ['task.unfinished', 'an offer left alone', offered],
  ];
  it.each(bad)('%s: %s', (code, _what, events) => {
    expect(checkStream(stored(events), { settled: true }).violations.map((v) => v.code)).toContain(code);
  });
});
