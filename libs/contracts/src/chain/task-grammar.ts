import type { TaskWork } from '../events/task.js';
import { isFollowed, type Ledger, type Task } from './ledger.js';
import { type TaskEvent, taskRow, taskTable } from './task-table.js';
import { acceptWakeUp } from './wake-up.js';

/** Takes one more event of a task into the ledger and says where charter section 7 forbids it. */
export function acceptTaskEvent(ledger: Ledger, e: TaskEvent, seq: number) {
  const entity = `task/${e.subject}`;
  const found = (code: string, message: string) => ledger.found(code, seq, entity, message);
  const task = ledger.tasks.get(e.subject);
  if (task === undefined) return begin(ledger, e, seq);
  if (task === 'cut') return;
  if (!isFollowed(task)) return found('task.order', `${taskRow(e)} after the task was done`);

  task.seq = seq;
  if (e.spaceid !== task.spaceId) found('task.identity', 'another space than at its creation');
  const to = taskTable[task.state][taskRow(e)];
  if (to === undefined) return found('task.order', `${taskRow(e)} while the task is ${task.state}`);
  const fault = faultOf(task, e);
  if (fault) found(...fault);
  task.state = to;
  if (e.type === 'task.ready') {
    task.attempt = e.data.attempt;
    task.retried = false;
  }
  if (e.type === 'task.retried') task.retried = true;
  if (e.type === 'task.cancelled') task.cancelledRun = e.data.runId;
  if (to === 'done') ledger.tasks.set(e.subject, 'closed');
}

function begin(ledger: Ledger, e: TaskEvent, seq: number): void {
  const entity = `task/${e.subject}`;
  if (e.type !== 'task.created') {
    ledger.tasks.set(
      e.subject,
      ledger.withoutBeginning('task.order', seq, entity, `${taskRow(e)} of a task never created`),
    );
    return;
  }
  ledger.counts.tasks++;
  const { work } = e.data;
  ledger.tasks.set(e.subject, {
    state: 'open',
    seq,
    spaceId: e.spaceid,
    work,
    attempt: 0,
    retried: true,
    cancelledRun: null,
    runs: new Map(),
  });
  acceptWakeUp(ledger, e, seq);
}

/** What the row's guard forbids. The taskboard acts on stored runs alone, so they stand at lower sequences. */
function faultOf(task: Task, e: TaskEvent): [code: string, message: string] | undefined {
  const run = task.runs.get(task.attempt);
  const failed = run?.status === 'failed' || run?.status === 'interrupted';
  switch (e.type) {
    case 'task.ready': {
      const next = task.attempt + (task.retried ? 1 : 0);
      if (e.data.attempt !== next) return ['task.attempt', `attempt ${e.data.attempt} is offered and ${next} is due`];
      return isSameWork(task.work, e.data.work)
        ? undefined
        : ['task.identity', 'the work is not what the task was created for'];
    }
    case 'task.completed':
      if (e.data.attempt !== task.attempt)
        return ['task.attempt', `attempt ${e.data.attempt} was not the one on offer`];
      return run?.status === 'ok' && run.runId === e.data.runId
        ? undefined
        : ['task.run', `run ${e.data.runId} did not end well for this attempt`];
    case 'task.retried':
      if (e.data.attempt !== task.attempt && e.data.attempt !== task.attempt + 1)
        return ['task.attempt', `attempt ${e.data.attempt} is named and ${task.attempt} was the last`];
      return failed ? undefined : ['task.run', 'opened again, and its run did not fail'];
    case 'task.died':
      if (e.data.attempts !== task.attempt)
        return ['task.attempt', `${e.data.attempts} attempts are named and there were ${task.attempt}`];
      return failed ? undefined : ['task.run', 'given up, and its run did not fail'];
    case 'task.cancelled':
      if (task.state === 'cancelled' && (task.cancelledRun !== null || e.data.runId === null))
        return ['task.order', 'cancelled again, and not to name a run'];
      return e.data.runId === null || e.data.runId === run?.runId
        ? undefined
        : ['task.run', `run ${e.data.runId} is not a run of this attempt`];
    default:
      return;
  }
}

const isSameWork = (a: TaskWork, b: TaskWork) =>
  a.conversationId === b.conversationId &&
  a.agent === b.agent &&
  a.principal.kind === b.principal.kind &&
  a.principal.id === b.principal.id &&
  a.wakeUp?.callId === b.wakeUp?.callId &&
  (a.prompt === undefined) === (b.prompt === undefined);

/** Accepted and running have no event of the task: its run tells them (charter, section 7). */
export function stateOf(task: Task): string {
  const run = task.runs.get(task.attempt);
  if (task.state !== 'offered' || run === undefined) return task.state;
  return run.started ? 'running' : 'accepted';
}
