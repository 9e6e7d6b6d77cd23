import type { HoldpointEvent, Sealed } from '@holdpoint/contracts';
import { newEvent } from '@holdpoint/eventing';
import { provenanceOf, type RunRow } from '../store/runs.js';

/** The end of a run, which is its receipt (seed 003). Its cost was counted while it ran. */
export function completedEvent(r: RunRow): HoldpointEvent<'run.completed'> {
  if (r.state === 'queued' || r.state === 'running') throw new Error(`run ${r.run_id} has not ended`);
  return newEvent('run.completed', {
    spaceId: r.space_id,
    entityId: r.run_id,
    runId: r.run_id,
    traceparent: r.traceparent ?? undefined,
    data: {
      ...provenanceOf(r),
      ...(r.attempt === null ? {} : { attempt: r.attempt }),
      status: r.state,
      ...(r.reason === null ? {} : { reason: r.reason }),
      steps: r.steps,
      usage: { promptTokens: r.prompt_tokens, completionTokens: r.completion_tokens, cachedTokens: r.cached_tokens },
      cost: { amount: r.cost_amount, known: r.cost_known },
      result: r.result === null ? null : (JSON.parse(r.result) as Sealed),
      durationMs: Math.max(0, (r.completed_at ?? r.queued_at).getTime() - (r.started_at ?? r.queued_at).getTime()),
    },
  });
}
