import type { PolicyMode, Verdict } from '@holdpoint/contracts';

export interface DecisionsTable {
  call_id: string;
  space_id: string;
  event_id: string;
  stream_seq: number;
  proposal_seq: number;
  verdict: Verdict;
  would_be: Verdict | null;
  mode: PolicyMode;
  reason: string;
  rule: string;
  policy_version: string;
  decided_at: Date;
}

export interface PolicyDatabase {
  decisions: DecisionsTable;
}
