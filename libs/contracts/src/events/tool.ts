import { z } from 'zod';
import { callRef, executionClass, hint, outcome } from '../call.js';
import { name, sha256Hex } from '../ids.js';
import { principal } from '../principal.js';
import { sealed } from '../sealed.js';
import { define } from './define.js';

export const toolProposed = define({
  type: 'tool.proposed',
  version: 1,
  publisher: 'agent-engine',
  entity: 'call',
  once: true,
  description: 'An agent asks for a call. The argument bytes are frozen from here on.',
  when: 'For each call that a model asks for and that could be read, before policy is asked. The engine waits until it is stored.',
  data: z.strictObject({
    call: callRef.extend({ schemaDigest: sha256Hex, digest: sha256Hex }),
    frozen: sealed.describe('Nonce (32 bytes), then the argument JSON byte for byte as the model emitted it.'),
    argumentBytes: z.int().min(0),
    hint,
    scope: z.enum(['user', 'admin']),
    executionClass,
    origin: z
      .enum(['builtin', 'foreign'])
      .describe("`builtin` tools are declared by us; everything else is a stranger's word."),
    step: z.int().min(1),
    index: z.int().min(0),
  }),
});

export const toolAbandoned = define({
  type: 'tool.abandoned',
  version: 1,
  publisher: 'agent-engine',
  entity: 'call',
  once: true,
  description: 'The engine gave the proposal up. It counts only if no verdict stands at a lower sequence.',
  when: 'When no verdict came in time, or the run was cancelled or its engine lost before there was one.',
  data: z.strictObject({ call: callRef, reason: z.enum(['no-verdict', 'cancelled', 'engine-lost']) }),
});

export const toolStarted = define({
  type: 'tool.started',
  version: 1,
  publisher: 'agent-engine',
  entity: 'call',
  once: false,
  description: 'The call is claimed. The effect begins only after this event is stored.',
  when: 'When an engine has claimed the call, before the effect begins. Reads have none.',
  data: z.strictObject({
    call: callRef,
    attempt: z.int().min(1),
    held: z.boolean(),
    executionClass: executionClass
      .optional()
      .describe('As the call was claimed: whether a further attempt may be made.'),
  }),
});

export const toolExecuted = define({
  type: 'tool.executed',
  version: 1,
  publisher: 'agent-engine',
  entity: 'call',
  once: true,
  description: 'What the call came to. Nothing more happens to it.',
  when: 'When the call has ended: carried out, failed, refused, or settled by a person. A call that is refused before it is proposed has this event alone.',
  data: z.strictObject({
    call: callRef,
    status: outcome,
    held: z.boolean().describe('True when a person released the call.'),
    reason: z
      .string()
      .max(128)
      .optional()
      .describe('Stable code of a refusal or error, such as `arguments.duplicate-key`.'),
    result: sealed.nullable(),
    truncated: z
      .strictObject({ bytes: z.int().min(0), digest: sha256Hex })
      .optional()
      .describe('Size and salted digest of the whole result when the box holds only its beginning.'),
    arguments: sealed.optional().describe('The raw arguments of a call that was refused before it was proposed.'),
    attempt: z.int().min(1).optional(),
    forgone: z
      .enum(['refused', 'abandoned'])
      .optional()
      .describe('Nobody had begun the call, and from here on nobody can: it might not run, or its run was given up.'),
    settledBy: principal.optional(),
    cancelled: z.boolean().describe('The run was cancelled; an effect that had begun is reported all the same.'),
    durationMs: z.int().min(0),
  }),
});

export const toolInDoubt = define({
  type: 'tool.in-doubt',
  version: 1,
  publisher: 'agent-engine',
  entity: 'call',
  once: false,
  description: 'Nobody knows whether the call took effect. Only a person can settle it.',
  when: 'When the tool answered `unknown`, or the lease and the time of the tool passed without an answer.',
  data: z.strictObject({
    call: callRef,
    attempt: z.int().min(1),
    held: z.boolean(),
    reason: z.enum(['tool-answered-unknown', 'lease-lapsed']),
    note: sealed.nullable(),
  }),
});

export const toolAnnounced = define({
  type: 'tool.announced',
  version: 1,
  publisher: 'agent-engine',
  entity: 'tool',
  once: false,
  description: 'A tool that agents of the space have, as its declaration stands now.',
  when: 'At the start of an engine, for each tool whose declaration, or whose agents, are not those announced last.',
  data: z.strictObject({
    server: name,
    tool: name,
    origin: z.enum(['builtin', 'foreign']),
    description: z.string().max(2000),
    /** For people who decide about opt-ins: what a destructive action of it destroys. */
    affectedData: z.string().max(300).nullable(),
    schemaDigest: sha256Hex,
    agents: z.array(name).max(500),
    actions: z
      .array(
        z.strictObject({
          /** Null: the tool itself, which declares no actions. */
          name: name.nullable(),
          description: z.string().max(1000),
          hint,
          scope: z.enum(['user', 'admin']),
          executionClass,
        }),
      )
      .max(200),
    /** No agent of the space has it any more. */
    withdrawn: z.boolean(),
  }),
});
