import type { HoldpointEvent } from '@holdpoint/contracts';
import type { StatedTool } from './tool-facts.js';

type Verdict = HoldpointEvent<'policy.decided'>;

/** A verdict as its row has it. */
export const decisionRowOf = ({ id, subject, spaceid, time, data }: Verdict, seq: number) => ({
  call_id: subject,
  space_id: spaceid,
  event_id: id,
  stream_seq: seq,
  proposal_seq: data.proposalSeq,
  verdict: data.verdict,
  would_be: data.wouldBe ?? null,
  mode: data.mode,
  reason: data.reason,
  rule: data.rule,
  policy_version: data.policyVersion,
  decided_at: new Date(time),
});

export type JudgedRow = ReturnType<typeof judgedRowOf>;

/** What a verdict was made from, as its row has it. Verdicts of before they said what was believed leave it to `judged`. */
export const judgedRowOf = ({ subject, spaceid, time, data }: Verdict, judged: StatedTool) => ({
  call_id: subject,
  space_id: spaceid,
  agent: judged.agent,
  server: judged.server,
  tool: judged.tool,
  action: judged.action,
  hint: data.believed?.hint ?? judged.hint,
  scope: data.believed?.scope ?? judged.scope,
  origin: data.believed?.origin ?? judged.origin,
  flags: data.flags,
  at: new Date(time),
});
