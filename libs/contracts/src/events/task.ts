import { z } from 'zod';
import { outcome } from '../call.js';
import { name, timestamp, token } from '../ids.js';
import { principal } from '../principal.js';
import { sealed } from '../sealed.js';
import { define } from './define.js';

/** What a wake-up tells the agent. The boxes are those of the call's own events and open under its call id. */
export const wakeUp = z.strictObject({
  callId: token,
  number: z.int().min(1).nullable(),
  tool: name,
  action: name.nullable(),
  outcome: z.enum(['executed', 'denied', 'rejected', 'expired', 'withdrawn']),
  status: outcome.nullable(),
  settled: z.boolean(),
  reasonCode: z.string().max(128).nullable(),
  by: principal.nullable(),
  result: sealed.nullable(),
  reason: sealed.nullable(),
});
export type WakeUp = z.infer<typeof wakeUp>;

/** What a task asks for: a wake-up after a held call, or a prompt from a person or a service (sealed for the task). */
export const taskWork = z.strictObject({
  conversationId: token,
  agent: name,
  principal,
  wakeUp: wakeUp.optional(),
  prompt: sealed.optional(),
});
export type TaskWork = z.infer<typeof taskWork>;

export const taskCreated = define({
  type: 'task.created',
  version: 1,
  publisher: 'taskboard',
  entity: 'task',
  once: false,
  description: 'Work for an agent. The id of a wake-up derives from its call.',
  when: 'When a person or a service orders work, and when a held call has ended and its agent is to be told.',
  data: z.strictObject({ work: taskWork, createdBy: principal, dueAt: timestamp }),
});

export const taskReady = define({
  type: 'task.ready',
  version: 1,
  publisher: 'taskboard',
  entity: 'task',
  once: false,
  description: 'The task is offered to the engines until its lease lapses.',
  when: 'When the task is due and nobody has it: once for each attempt, and again when an offer lapsed.',
  data: z.strictObject({ work: taskWork, attempt: z.int().min(1), leaseUntil: timestamp }),
});

export const taskCompleted = define({
  type: 'task.completed',
  version: 1,
  publisher: 'taskboard',
  entity: 'task',
  once: false,
  description: 'A run did what the task asked for.',
  when: 'When the run of the task completed with `ok`.',
  data: z.strictObject({ attempt: z.int().min(1), runId: token }),
});

export const taskRetried = define({
  type: 'task.retried',
  version: 1,
  publisher: 'taskboard',
  entity: 'task',
  once: false,
  description: 'The task is open again: after a failed run, or because a person asked for it.',
  when: 'When a run of the task failed or was interrupted and attempts are left, or when a person opens a dead task again.',
  data: z.strictObject({
    attempt: z.int().min(1),
    dueAt: timestamp,
    reason: z.string().max(128),
    by: principal.nullable(),
  }),
});

export const taskDied = define({
  type: 'task.died',
  version: 1,
  publisher: 'taskboard',
  entity: 'task',
  once: false,
  description: 'Five attempts failed. A person decides what becomes of it.',
  when: 'When the run of the last attempt failed.',
  data: z.strictObject({ attempts: z.int().min(1), reason: z.string().max(128), runId: token.optional() }),
});

export const taskCancelled = define({
  type: 'task.cancelled',
  version: 1,
  publisher: 'taskboard',
  entity: 'task',
  once: false,
  description: 'A person ended the task; its queued or running run is cancelled.',
  when: 'When a person ends a task that is not finished.',
  data: z.strictObject({ by: principal, reason: z.string().max(128), runId: token.nullable() }),
});
