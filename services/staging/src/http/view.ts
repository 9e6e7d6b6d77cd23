import type { ApprovalSummary } from '@holdpoint/contracts';
import { callOf } from '../facts.js';
import type { FrozenCall } from '../store/frozen-calls.js';

export function summaryOf(c: FrozenCall): ApprovalSummary {
  const { schemaDigest: _, ...call } = callOf(c);
  return {
    id: c.call_id,
    number: c.number,
    spaceId: c.space_id,
    runId: c.run_id,
    ...call,
    hint: c.hint,
    status: c.status,
    stagedAt: c.staged_at.toISOString(),
    expiresAt: c.expires_at.toISOString(),
    rule: c.rule,
    policyVersion: c.policy_version,
    flags: c.flags,
    decidedBy: c.decided_by === null ? null : { kind: 'person', id: c.decided_by },
    decidedAt: c.decided_at?.toISOString() ?? null,
    execution: c.execution,
    outcome: c.outcome,
  };
}
