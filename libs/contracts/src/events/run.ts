import { z } from 'zod';
import { provenance } from '../call.js';
import { token } from '../ids.js';
import { principal } from '../principal.js';
import { sealed } from '../sealed.js';
import { define } from './define.js';

const attempt = z.int().min(1).optional();

export const runStatus = z.enum(['ok', 'failed', 'interrupted', 'cancelled']);
export type RunStatus = z.infer<typeof runStatus>;

export const usage = z.strictObject({
  promptTokens: z.int().min(0),
  completionTokens: z.int().min(0),
  cachedTokens: z.int().min(0),
});
export type Usage = z.infer<typeof usage>;

export const runQueued = define({
  type: 'run.queued',
  version: 1,
  publisher: 'agent-engine',
  entity: 'run',
  once: false,
  description: 'A run waits for its conversation. A task and an attempt have at most one run.',
  when: "When a person's prompt or a task that is ready becomes a run, in the transaction that makes the run.",
  data: z.strictObject({ ...provenance.shape, attempt, prompt: sealed }),
});

export const runStarted = define({
  type: 'run.started',
  version: 1,
  publisher: 'agent-engine',
  entity: 'run',
  once: false,
  description: 'The run is the only running one of its conversation.',
  when: 'When the run takes its conversation, before a model is asked anything.',
  data: z.strictObject({ ...provenance.shape, attempt, engine: z.string().min(1).max(128) }),
});

export const runCompleted = define({
  type: 'run.completed',
  version: 1,
  publisher: 'agent-engine',
  entity: 'run',
  once: false,
  description: 'The run is over; the event is its receipt (seed 003).',
  when: 'When the run has ended, however it ended: by itself, failed, cancelled, or lost with its engine.',
  data: z.strictObject({
    ...provenance.shape,
    attempt,
    status: runStatus,
    reason: z.string().max(128).optional(),
    steps: z.int().min(0),
    usage,
    cost: z
      .strictObject({ amount: z.string(), known: z.boolean() })
      .describe('`amount` in US dollars as a decimal string; meaningless unless `known`.'),
    result: sealed.nullable(),
    durationMs: z.int().min(0),
  }),
});

export const runKeyDestroyed = define({
  type: 'run.key-destroyed',
  version: 1,
  publisher: 'agent-engine',
  entity: 'conversation',
  once: false,
  description: 'The data key of a conversation is gone: its content can never be opened again, its proofs stay valid.',
  when: 'When content is erased, with the destruction of the data key.',
  data: z.strictObject({ conversationId: token, kid: z.string(), by: principal, reason: z.string().max(128) }),
});
