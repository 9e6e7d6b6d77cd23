import { z } from 'zod';
import { hint, outcome, provenance } from './call.js';
import { decision } from './events/approval.js';
import { envelope } from './events/define.js';
import { runStatus, usage } from './events/run.js';
import { name, sha256Hex, timestamp, token } from './ids.js';
import { displayName, principal, role, source, userId } from './principal.js';
import { approvalRequirement, castVote, missingVotes } from './requirement.js';
import { sealed } from './sealed.js';

/** RFC 9457. `code` is stable; `detail` says what to do; `errors` names the fields of a malformed request. */
export const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().optional(),
  instance: z.string().optional(),
  code: z.string(),
  errors: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
});
export type Problem = z.infer<typeof problem> & Record<string, unknown>;

export const page = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), nextCursor: z.string().optional() });

// agent-engine

export const startRunRequest = z.strictObject({
  prompt: z
    .string()
    .min(1)
    .max(64 * 1024),
  conversationId: token.optional(),
  source: source.exclude(['task', 'approval', 'unknown']).optional(),
});
export type StartRunRequest = z.infer<typeof startRunRequest>;

export const runState = z.enum(['queued', 'running', ...runStatus.options]);

export const runView = z.object({
  id: token,
  spaceId: token,
  ...provenance.shape,
  state: runState,
  attempt: z.int().optional(),
  reason: z.string().optional(),
  steps: z.int(),
  usage,
  result: z.string().nullable(),
  queuedAt: timestamp,
  startedAt: timestamp.nullable(),
  completedAt: timestamp.nullable(),
});
export type RunView = z.infer<typeof runView>;

const ofCall = { callId: token, step: z.int(), tool: name, action: name.nullable() };

/**
 * What happens in a run, for people who watch it: the events of `text/event-stream`. Each is told once a stream, with an id
 * that is the same whoever asks and whenever. `run.completed` is the last.
 */
export const runProgress = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['run.queued', 'run.started', 'run.completed']), run: runView }),
  /** A round of the model is complete; `text` is all that it said. */
  z.object({ type: z.literal('step'), step: z.int(), text: z.string() }),
  z.object({ type: z.literal('call.proposed'), ...ofCall }),
  /** `number` as in acme#42, or null when it is not known yet. */
  z.object({ type: z.literal('call.held'), ...ofCall, number: z.int().nullable() }),
  z.object({ type: z.literal('call.denied'), ...ofCall, reason: z.string() }),
  z.object({ type: z.literal('call.executed'), ...ofCall, status: outcome }),
  z.object({ type: z.literal('call.in-doubt'), ...ofCall }),
]);
export type RunProgress = z.infer<typeof runProgress>;

/** One turn of a conversation as its members may read it. */
export const turnView = z.object({
  runId: token,
  role: z.enum(['user', 'assistant', 'tool']),
  text: z.string(),
  at: timestamp,
});
export const conversationView = z.object({ id: token, spaceId: token, agent: name, turns: z.array(turnView) });
export type ConversationView = z.infer<typeof conversationView>;

/** A call whose outcome nobody knows. */
export const doubtView = z.object({
  callId: token,
  spaceId: token,
  runId: token,
  agent: name,
  tool: name,
  action: name.nullable(),
  attempt: z.int(),
  held: z.boolean(),
  reason: z.string(),
  since: timestamp,
});
export type DoubtView = z.infer<typeof doubtView>;

export const settleRequest = z
  .strictObject({
    happened: z.boolean(),
    note: z.string().max(500).optional(),
    /** It did not happen and is wanted all the same: the same arguments are proposed again, as a new call. */
    proposeAnew: z.boolean().optional(),
  })
  .refine((said) => !(said.happened && said.proposeAnew), {
    path: ['proposeAnew'],
    message: 'what happened is not proposed anew; say "happened": false or leave it out',
  });
export type SettleRequest = z.infer<typeof settleRequest>;

// policy

/** The second question: is what was decided still right? Asked by staging at decision and by the engine at claim. */
export const policyCheckRequest = z.strictObject({
  moment: z.enum(['decision', 'claim']),
  callId: token,
  spaceId: token,
  agent: name,
  principal,
  server: name,
  tool: name,
  action: name.nullable(),
  hint,
  scope: z.enum(['user', 'admin']),
  origin: z.enum(['builtin', 'foreign']),
  /** Of a held call: the approvals so far, the one that is being decided included. */
  votes: z.array(castVote).max(50).optional(),
});
export type PolicyCheckRequest = z.infer<typeof policyCheckRequest>;

export const policyCheckReply = z.object({
  verdict: z.enum(['auto', 'approve', 'deny']),
  halted: z.boolean(),
  reason: z.string(),
  rule: z.string(),
  policyVersion: z.string(),
  /** What a release has to meet as things are now; absent where nothing is held. */
  requirements: z.array(approvalRequirement).max(8).optional(),
  /**
   * By the database's clock: until then, and no longer, the answer may be acted upon. A halt or a revoke is answered only
   * when every earlier answer has run out.
   */
  validUntil: timestamp.optional(),
});
export type PolicyCheckReply = z.infer<typeof policyCheckReply>;

/** A space as one of its members sees it. */
export const spaceView = z.object({
  spaceId: token,
  name: displayName,
  /** The asker's own. */
  role,
  createdBy: userId,
  createdAt: timestamp,
});
export type SpaceView = z.infer<typeof spaceView>;

const groups = z
  .array(token)
  .max(50)
  .refine((names) => new Set(names).size === names.length, 'must name each group once');

const firstMember = z.strictObject({ userId, displayName, role, groups: groups.optional() });

export const createSpaceRequest = z.strictObject({
  spaceId: token.refine((id) => id !== '_all', 'stands for every space: choose another'),
  name: displayName,
  /** Who belongs to it from the start, besides the creator, who becomes its owner. */
  members: z.array(firstMember).max(100).optional(),
});
export type CreateSpaceRequest = z.infer<typeof createSpaceRequest>;

export const memberView = z.object({
  userId,
  displayName,
  role,
  /** What approvals can ask for beside roles. */
  groups: z.array(token),
  changedBy: userId,
  changedAt: timestamp,
});
export type MemberView = z.infer<typeof memberView>;

/**
 * Without a display name or groups the member keeps theirs; a new one is then called by their id and in no group. Groups
 * are the whole new list.
 */
export const setMemberRequest = z.strictObject({
  role,
  displayName: displayName.optional(),
  groups: groups.optional(),
});
export type SetMemberRequest = z.infer<typeof setMemberRequest>;

/** What policy tells a service of a person: role and groups in each space that they are a member of. */
export const memberships = z.object({
  userId,
  spaces: z.record(token, role),
  groups: z.record(token, z.array(token)).optional(),
});

// staging

export const approvalStatus = z.enum(['pending', ...decision.options]);

/** What became of an approved call. */
export const executionState = z.enum(['waiting', 'executing', 'in-doubt', 'closed']);

const voteView = z.object({
  ...castVote.shape,
  at: timestamp,
  /** Of a pending call: false when the voter is by now nobody whose vote counts. */
  counts: z.boolean(),
});

export const approvalSummary = z.object({
  id: token,
  number: z.int(),
  spaceId: token,
  runId: token,
  ...provenance.shape,
  server: name,
  tool: name,
  action: name.nullable(),
  hint,
  digest: sha256Hex,
  status: approvalStatus,
  stagedAt: timestamp,
  expiresAt: timestamp,
  rule: z.string(),
  policyVersion: z.string(),
  flags: z.array(z.string()),
  decidedBy: principal.nullable(),
  decidedAt: timestamp.nullable(),
  execution: executionState.nullable(),
  outcome: outcome.nullable(),
  /** What a release has to meet, all of it: as the verdict froze it, and what policy asked for since, as the last vote had it. */
  requirements: z.array(approvalRequirement),
  votes: z.array(voteView),
  /** For each requirement, in the same order. Zero everywhere and still pending: whoever approves next releases the call. */
  missing: z.array(missingVotes),
});
export type ApprovalSummary = z.infer<typeof approvalSummary>;

/** `arguments` is the frozen text exactly as the model wrote it: show it escaped, hash it as it is. */
export const approvalView = approvalSummary.extend({
  arguments: z.string(),
  reason: z.string().nullable(),
  /** With the voter's own words: show them escaped. */
  votes: z.array(voteView.extend({ reason: z.string().nullable() })),
});
export type ApprovalView = z.infer<typeof approvalView>;

export const decisionRequest = z.strictObject({
  decision: z.enum(['approve', 'reject']),
  /** The digest that the decider saw; any other is refused. */
  digest: sha256Hex,
  reason: z.string().max(2000).optional(),
});
export type DecisionRequest = z.infer<typeof decisionRequest>;

export const withdrawRequest = z.strictObject({ reason: z.string().max(2000).optional() });
export type WithdrawRequest = z.infer<typeof withdrawRequest>;

// taskboard

export const taskState = z.enum(['open', 'offered', 'accepted', 'running', 'done', 'dead', 'cancelled']);
export type TaskState = z.infer<typeof taskState>;

export const taskView = z.object({
  id: token,
  spaceId: token,
  conversationId: token,
  agent: name,
  kind: z.enum(['wake-up', 'prompt']),
  callId: token.nullable(),
  state: taskState,
  attempt: z.int(),
  runId: token.nullable(),
  dueAt: timestamp,
  createdAt: timestamp,
  updatedAt: timestamp,
  reason: z.string().nullable(),
});
export type TaskView = z.infer<typeof taskView>;

export const createTaskRequest = z.strictObject({
  agent: name,
  /** A person with one space need not name it; a service always does. */
  space: token.optional(),
  /** Absent: a conversation of its own begins. */
  conversationId: token.optional(),
  prompt: startRunRequest.shape.prompt,
  /** Not offered before; absent: at once. */
  dueAt: timestamp.optional(),
  /** The same key from the same creator names the same task, however often it is sent. */
  idempotencyKey: z.string().min(1).max(128).optional(),
});
export type CreateTaskRequest = z.infer<typeof createTaskRequest>;

/** What the taskboard asks of the engine: open the conversation unless it is there, and seal the prompt for the task. */
export const taskPromptRequest = z.strictObject({
  taskId: token,
  spaceId: token,
  agent: name,
  principal,
  conversationId: token.optional(),
  prompt: startRunRequest.shape.prompt,
});
export type TaskPromptRequest = z.infer<typeof taskPromptRequest>;

export const taskPromptReply = z.object({ conversationId: token, prompt: sealed });
export type TaskPromptReply = z.infer<typeof taskPromptReply>;

// audit

/** `staging` and `decision` entries are made for held calls; a held call has three entries (charter, section 8). */
export const auditStatus = z.enum([...outcome.options, 'Staged']);

export const auditEntry = z.object({
  id: z.string(),
  streamSeq: z.int(),
  at: timestamp,
  kind: z.enum(['outcome', 'staging', 'decision']),
  spaceId: token,
  runId: token.nullable(),
  taskId: token.nullable(),
  callId: token,
  conversationId: token,
  agent: name,
  model: z.string(),
  source,
  principal,
  server: name,
  tool: name,
  action: name.nullable(),
  status: auditStatus,
  /** At most 4,000 characters; null when the content cannot be opened any more. */
  arguments: z.string().nullable(),
  /** At most 500 characters. */
  note: z.string(),
});
export type AuditEntry = z.infer<typeof auditEntry>;

export const receipt = z.object({
  runId: token,
  spaceId: token,
  ...provenance.shape,
  attempt: z.int().nullable(),
  status: runStatus,
  reason: z.string().nullable(),
  steps: z.int(),
  usage,
  cost: z.object({ amount: z.string(), known: z.boolean() }),
  /** Where the result can be read: the sequence of the event that carries it, or null when there was none. */
  resultSeq: z.int().nullable(),
  durationMs: z.int(),
  completedAt: timestamp,
  streamSeq: z.int(),
});
export type Receipt = z.infer<typeof receipt>;

/** One event of a chain, its bytes taken from the stream. */
export const chainEvent = z.object({
  seq: z.int(),
  subject: z.string(),
  /** The stored bytes, base64. */
  body: z.string(),
  /** Whether the log's bytes are the stream's; `absent` when the stream no longer holds the message. */
  log: z.enum(['equal', 'different', 'absent']),
});
export const chainView = z.object({ runId: token, events: z.array(chainEvent) });
export type ChainView = z.infer<typeof chainView>;

/** An event as it is told live: metadata alone, `{ "sealed": true }` in place of each box of content. */
export const toldEvent = z.object({
  /** Where it stands in the stream; what comes after is asked for by it. */
  seq: z.int(),
  /** The event in plain words. */
  words: z.string(),
  event: z.looseObject(envelope.shape),
});
export type ToldEvent = z.infer<typeof toldEvent>;

// every service that consumes

export const deadLetterState = z.enum(['failing', 'recovered', 'dead', 'replayed']);

/** A delivery that a service could not handle: metadata alone, `lastError` in the service's own words. */
export const deadLetterView = z.object({
  id: z.string(),
  service: name,
  consumer: z.string(),
  seq: z.int(),
  /** Type, space and entity as the subject names them; null when it is no subject of ours. */
  type: z.string().nullable(),
  spaceId: token.nullable(),
  entityId: token.nullable(),
  subject: z.string(),
  attempts: z.int(),
  lastError: z.string(),
  state: deadLetterState,
  /** False for a forged message: it carried the broker's own headers. */
  replayable: z.boolean(),
  since: timestamp,
  changedAt: timestamp,
});
export type DeadLetterView = z.infer<typeof deadLetterView>;
