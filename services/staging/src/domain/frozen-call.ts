import type { HoldpointEvent } from '@holdpoint/contracts';
import { onlyUsual } from './tally.js';

/** What is frozen with a held call, as its row has it: of its proposal and of the verdict that holds it. */
export function frozenCallOf(
  verdict: HoldpointEvent<'policy.decided'>,
  proposal: HoldpointEvent<'tool.proposed'>,
  verdictSeq: number,
  number: number,
) {
  const { call, frozen, hint, scope, origin } = proposal.data;
  const { requirements: asked } = verdict.data;
  return {
    call_id: proposal.subject,
    space_id: proposal.spaceid,
    number,
    run_id: proposal.runid ?? proposal.subject,
    conversation_id: call.conversationId,
    task_id: call.taskId ?? null,
    agent: call.agent,
    model: call.model,
    source: call.source,
    principal_kind: call.principal.kind,
    principal_id: call.principal.id,
    server: call.server,
    tool: call.tool,
    action: call.action,
    schema_digest: call.schemaDigest,
    digest: call.digest,
    frozen: JSON.stringify(frozen),
    hint,
    scope,
    origin,
    flags: verdict.data.flags,
    rule: verdict.data.rule,
    policy_version: verdict.data.policyVersion,
    verdict_seq: verdictSeq,
    traceparent: proposal.traceparent ?? null,
    requirements: asked === undefined || onlyUsual(asked) ? null : asked,
  };
}
