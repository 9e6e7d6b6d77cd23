import {
  AWAITING,
  answers,
  awaits,
  consumerName,
  type Fact,
  type HoldpointEvent,
  INBOX,
  type Projection,
  type RowKey,
  type Rows,
  took,
} from '@holdpoint/contracts';
import { approvalRowOf } from './approval-row.js';
import { conclude, recall } from './decide.js';
import { created, evolve, type Task, type TaskEvent } from './task.js';
import { rowOf, type TaskRow, toTask } from './task-row.js';
import { wakeUpAfterDecision, wakeUpAfterExecution, wakeUpTaskId } from './wake-up.js';

type Run = HoldpointEvent<'run.queued' | 'run.started' | 'run.completed'>;

/** When a retry is due is in `task.retried`; here only whether one is due. */
const ANY_BACKOFF = { baseMs: 0, maxMs: 0 };
const consumer = (event: HoldpointEvent) => consumerName('taskboard', `${event.type}.>`);
const remembered = (event: HoldpointEvent): RowKey => ['inbox', consumer(event), event.id];

/** A task's row is the fold of its events, its own and its runs', as `Board` folds them one at a time. */
export const projection: Projection = {
  tables: [
    {
      name: 'tasks',
      key: ['task_id'],
      untold: ['lease_until'],
      // An offer that nobody took lapses without an event.
      comparedAs: { state: "CASE state WHEN 'offered' THEN 'open' ELSE state END" },
    },
    { name: 'approvals', key: ['call_id'] },
    INBOX,
  ],
  notes: [AWAITING],

  reads({ event }) {
    const own: RowKey[] = event.type.startsWith('task.') ? [['tasks', event.subject]] : [];
    const cause: RowKey[] = event.causationid === undefined ? [] : [[AWAITING, event.causationid]];
    switch (event.type) {
      case 'run.queued':
      case 'run.started':
      case 'run.completed':
        if (event.data.taskId === undefined) return [];
        return [['tasks', event.data.taskId], remembered(event), [AWAITING, event.id]];
      case 'approval.decided':
      case 'tool.executed':
        return [
          ['approvals', event.subject],
          ['tasks', wakeUpTaskId(event.subject)],
          remembered(event),
          [AWAITING, event.id],
        ];
      default:
        return own.length === 0 ? [] : [...own, ...cause, ...causesOf(event)];
    }
  },

  apply(fact, rows) {
    const { event } = fact;
    switch (event.type) {
      case 'task.created':
        if (rows.get('tasks', event.subject) === undefined) put(rows, created(event));
        answers(rows, event.causationid);
        return;
      case 'task.ready':
      case 'task.completed':
      case 'task.retried':
      case 'task.died':
      case 'task.cancelled':
        fold(rows, event.subject, event);
        answers(rows, event.causationid);
        return;
      case 'run.queued':
      case 'run.started':
        if (event.data.taskId === undefined || !fold(rows, event.data.taskId, event)) return;
        return awaitUnlessMoot(fact, rows);
      case 'run.completed':
        if (event.data.taskId === undefined || task(rows, event.data.taskId) === undefined) return;
        return awaitUnlessMoot(fact, rows);
      case 'approval.decided':
        if (event.data.decision === 'approved' && rows.get('approvals', event.subject) === undefined)
          rows.put('approvals', approvalRowOf(event));
        return awaitUnlessMoot(fact, rows);
      case 'tool.executed':
        // Nothing is remembered of an execution that wakes nobody.
        if (wakeUpAfterExecution(event, null) !== null) awaitUnlessMoot(fact, rows);
        return;
      default:
        return;
    }
  },

  isMoot: ({ event }, rows) => !asksForMore(event, rows),
};

/** What a wake-up or a repeated cancellation answers has its own consumer's name in the inbox. */
function causesOf(event: HoldpointEvent): RowKey[] {
  const { causationid } = event;
  if (causationid === undefined) return [];
  return ['run.queued', 'run.started', 'run.completed', 'approval.decided', 'tool.executed'].map((type) => [
    'inbox',
    consumerName('taskboard', `${type}.>`),
    causationid,
  ]);
}

function awaitUnlessMoot(fact: Fact, rows: Rows): void {
  if (asksForMore(fact.event, rows)) awaits(rows, consumer(fact.event), fact);
  else took(rows, consumer(fact.event), fact);
}

/** Whether the board would still answer the event with one of its own. */
function asksForMore(event: HoldpointEvent, rows: Rows): boolean {
  switch (event.type) {
    case 'run.queued':
    case 'run.started':
    case 'run.completed':
      return runAsksForMore(event, task(rows, event.data.taskId ?? ''));
    case 'approval.decided':
      return wakeUpAfterDecision(event) !== null && task(rows, wakeUpTaskId(event.subject)) === undefined;
    case 'tool.executed':
      return task(rows, wakeUpTaskId(event.subject)) === undefined;
    default:
      return false;
  }
}

function runAsksForMore(event: Run, of: Task | undefined): boolean {
  if (of === undefined) return false;
  if (event.type === 'run.completed') return conclude(of, event, new Date(event.time), ANY_BACKOFF) !== null;
  return recall(of, event) !== null;
}

function task(rows: Rows, id: string): Task | undefined {
  const row = rows.get('tasks', id);
  return row && toTask(row as unknown as TaskRow);
}

/** @returns false when there is no such task */
function fold(rows: Rows, id: string, event: Exclude<TaskEvent, HoldpointEvent<'task.created'>>): boolean {
  const before = task(rows, id);
  if (before === undefined) return false;
  const after = evolve(before, event);
  if (after !== before) put(rows, after);
  return true;
}

const put = (rows: Rows, t: Task): void => rows.put('tasks', rowOf(t) as unknown as Record<string, unknown>);
