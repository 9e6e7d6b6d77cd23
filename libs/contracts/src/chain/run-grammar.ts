import { isFollowed, type Ledger, type Run } from './ledger.js';
import { type RunEvent, runRow, runTable } from './task-table.js';

/** Takes one more event of a run into the ledger and says where charter section 7 forbids it. */
export function acceptRunEvent(ledger: Ledger, e: RunEvent, seq: number) {
  const entity = `run/${e.subject}`;
  const found = (code: string, message: string) => ledger.found(code, seq, entity, message);
  const run = ledger.runs.get(e.subject);
  if (run === undefined) return begin(ledger, e, seq);
  if (run === 'cut') return;
  if (!isFollowed(run)) return found('run.order', `${runRow(e)} after the run was over`);

  run.seq = seq;
  if (stampOf(e) !== run.stamp)
    found('run.identity', 'agent, source, conversation, task or person differ from the start');
  const to = runTable[run.state][runRow(e)];
  if (to === undefined) return found('run.order', `${runRow(e)} while the run is ${run.state}`);
  run.state = to;
  const attempt = attemptOf(ledger, run);
  if (to === 'running') {
    run.startedAt = Date.parse(e.time);
    const otherId = ledger.busy.get(run.conversationId) ?? '';
    const other = ledger.runs.get(otherId);
    if (isFollowed(other)) {
      if (other.startedAt <= run.startedAt) other.next = { runId: e.subject, startedAt: run.startedAt };
      else run.next = { runId: otherId, startedAt: other.startedAt };
    }
    ledger.busy.set(run.conversationId, e.subject);
    if (attempt) attempt.started = true;
  }
  if (e.type === 'run.completed') {
    ledger.counts.receipts++;
    // A relay keeps order within a run and not between two, so their own times tell whether they ran at once.
    if (run.next && Date.parse(e.time) > run.next.startedAt)
      found('run.conversation-busy', `ran on while run ${run.next.runId} of its conversation was running`);
    if (ledger.busy.get(run.conversationId) === e.subject) ledger.busy.delete(run.conversationId);
    if (attempt) attempt.status = e.data.status;
    ledger.runs.set(e.subject, 'closed');
  }
}

function begin(ledger: Ledger, e: RunEvent, seq: number): void {
  const entity = `run/${e.subject}`;
  if (e.type !== 'run.queued') {
    ledger.runs.set(e.subject, ledger.withoutBeginning('run.order', seq, entity, `${runRow(e)} of a run never queued`));
    return;
  }
  ledger.counts.runs++;
  ledger.runsOwed.delete(e.subject);
  const { agent, conversationId, taskId, attempt } = e.data;
  ledger.runs.set(e.subject, {
    state: 'queued',
    seq,
    spaceId: e.spaceid,
    agent,
    stamp: stampOf(e),
    conversationId,
    taskId,
    attempt,
    startedAt: 0,
    next: null,
  });
  const fault = joinTask(ledger, e);
  if (fault) ledger.found('run.task', seq, entity, fault);
}

/** The engine takes a task up only once its offer is stored, and each attempt of a task once. */
function joinTask(ledger: Ledger, e: Extract<RunEvent, { type: 'run.queued' }>): string | undefined {
  const { taskId, attempt, source, agent, conversationId, principal } = e.data;
  if ((source === 'task') !== (taskId !== undefined)) return 'a run is from a task exactly if it names one';
  if (taskId === undefined) return attempt === undefined ? undefined : 'an attempt, and no task';
  if (attempt === undefined) return 'a task, and no attempt';
  const task = ledger.tasks.get(taskId);
  if (task === 'cut' || (task === undefined && ledger.beheaded)) return;
  if (task === undefined) return `task ${taskId} was never created`;
  if (!isFollowed(task)) return `task ${taskId} is done`;
  if (task.runs.has(attempt)) return `attempt ${attempt} of task ${taskId} has a run already`;
  if (attempt !== task.attempt) return `attempt ${attempt} of task ${taskId} was not offered`;
  task.runs.set(attempt, { runId: e.subject, started: false, status: null });
  const { work } = task;
  const same =
    e.spaceid === task.spaceId &&
    agent === work.agent &&
    conversationId === work.conversationId &&
    principal.kind === work.principal.kind &&
    principal.id === work.principal.id;
  return same ? undefined : `not what task ${taskId} asks for: another agent, conversation or person`;
}

function attemptOf(ledger: Ledger, run: Run) {
  const task = run.taskId === undefined ? undefined : ledger.tasks.get(run.taskId);
  return isFollowed(task) && run.attempt !== undefined ? task.runs.get(run.attempt) : undefined;
}

function stampOf(e: RunEvent): string {
  const { agent, source, conversationId, taskId, attempt, principal } = e.data;
  return JSON.stringify([e.spaceid, agent, source, conversationId, taskId, attempt, principal.kind, principal.id]);
}
