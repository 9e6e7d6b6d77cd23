import type { PolicyMode, Role, Verdict } from '@holdpoint/contracts';

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

export interface SpacesTable {
  space_id: string;
  name: string;
  created_by: string;
  created_at: Date;
}

export interface SpaceMembersTable {
  space_id: string;
  user_id: string;
  display_name: string;
  role: Role;
  changed_by: string;
  changed_at: Date;
}

export interface RateCallsTable {
  call_id: string;
  space_id: string;
  user_kind: string;
  user_id: string;
  server: string;
  tool: string;
  at: Date;
  passed: boolean;
}

export interface PolicyDatabase {
  decisions: DecisionsTable;
  spaces: SpacesTable;
  space_members: SpaceMembersTable;
  rate_calls: RateCallsTable;
}
