import type { Receipt } from '@holdpoint/contracts';
import type { Entry } from './entry.js';
import { storable } from './message.js';

/** An entry as the log tells it; its arguments and its reason are named by sequence and still sealed. */
export type StoredEntry = Entry & { id: string; streamSeq: number; at: Date };

/** An entry as its row has it. */
export const entryRowOf = (e: StoredEntry) => ({
  stream_seq: e.streamSeq,
  event_id: e.id,
  at: e.at,
  kind: e.kind,
  space_id: e.spaceId,
  run_id: e.runId,
  task_id: e.taskId,
  call_id: e.callId,
  conversation_id: e.conversationId,
  agent: storable(e.agent),
  model: storable(e.model),
  source: e.source,
  principal_kind: e.principal.kind,
  principal_id: storable(e.principal.id),
  server: storable(e.server),
  tool: storable(e.tool),
  action: e.action === null ? null : storable(e.action),
  status: e.status,
  arguments_seq: e.argumentsSeq,
  note: storable(e.note),
  note_seq: e.noteSeq,
});

/** A receipt as its row has it. */
export const receiptRowOf = (r: Receipt) => ({
  stream_seq: r.streamSeq,
  run_id: r.runId,
  space_id: r.spaceId,
  task_id: r.taskId ?? null,
  attempt: r.attempt,
  conversation_id: r.conversationId,
  agent: storable(r.agent),
  model: storable(r.model),
  source: r.source,
  principal_kind: r.principal.kind,
  principal_id: storable(r.principal.id),
  status: r.status,
  reason: r.reason === null ? null : storable(r.reason),
  steps: r.steps,
  prompt_tokens: r.usage.promptTokens,
  completion_tokens: r.usage.completionTokens,
  cached_tokens: r.usage.cachedTokens,
  cost_amount: r.cost.amount,
  cost_known: r.cost.known,
  result_seq: r.resultSeq,
  duration_ms: r.durationMs,
  completed_at: new Date(r.completedAt),
});
