import type { RunView, Sealed } from '@holdpoint/contracts';
import { ContentDestroyed, ContentUnreadable, Keyring } from '@holdpoint/runtime';
import { provenanceOf, type RunRow } from '../store/runs.js';
import { whatNow } from './ended.js';

export async function runView(r: RunRow, keyring: Keyring): Promise<RunView> {
  return {
    id: r.run_id,
    spaceId: r.space_id,
    ...provenanceOf(r),
    state: r.state,
    ...(r.attempt === null ? {} : { attempt: r.attempt }),
    ...(r.reason === null ? {} : { reason: r.reason }),
    steps: r.steps,
    usage: { promptTokens: r.prompt_tokens, completionTokens: r.completion_tokens, cachedTokens: r.cached_tokens },
    result: (await resultText(r, keyring)) ?? (failed(r) ? whatNow(r.reason) : null),
    queuedAt: r.queued_at.toISOString(),
    startedAt: r.started_at?.toISOString() ?? null,
    completedAt: r.completed_at?.toISOString() ?? null,
  };
}

const failed = (r: RunRow) => r.state === 'failed' || r.state === 'interrupted' || r.state === 'cancelled';

async function resultText(r: RunRow, keyring: Keyring): Promise<string | null> {
  if (r.result === null) return null;
  try {
    const at = { spaceId: r.space_id, entityId: r.run_id, field: 'result' as const };
    return Buffer.from(await keyring.open(JSON.parse(r.result) as Sealed, at)).toString('utf8');
  } catch (error) {
    if (error instanceof ContentDestroyed || error instanceof ContentUnreadable) return null;
    throw error;
  }
}
