import type { EventData, HaltScope, PolicyMode, Role, SpaceRuleView, Verdict } from '@holdpoint/contracts';
import type { ColumnType, Generated } from 'kysely';

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
  groups: string[];
  changed_by: string;
  changed_at: Date;
}

/** Written as text, so that the driver does not take a list for a PostgreSQL array. */
type Json<T> = ColumnType<T, string, string>;
type Announced = EventData<'tool.announced'>;

export interface ToolsTable {
  space_id: string;
  server: string;
  tool: string;
  origin: Announced['origin'];
  description: string;
  affected_data: string | null;
  schema_digest: string;
  agents: string[];
  actions: Json<Announced['actions']>;
  withdrawn: boolean;
  announced_at: Date;
  stream_seq: number;
}

export interface SpaceRevisionsTable {
  space_id: string;
  revision: number;
}

interface LastChange {
  space_id: string;
  updated_at: Date;
  updated_by: string;
  revision: number;
  schema_version: Generated<number>;
}

export interface SpacePolicyPreferencesTable extends LastChange {
  allow_destructive: string[];
}

export interface SpaceRulesTable extends LastChange {
  rules: Json<SpaceRuleView[]>;
}

/** Rows of an audit come from triggers alone. */
interface AuditRow {
  id: string;
  space_id: string;
  actor_id: string;
  action: 'added' | 'removed';
  at: Date;
  revision: number;
}

export interface SpacePolicyAuditTable extends AuditRow {
  tool_name: string;
}

export interface SpaceRulesAuditTable extends AuditRow {
  rule: SpaceRuleView;
}

export interface HaltsTable {
  halt_id: string;
  scope: HaltScope;
  space_id: string | null;
  agent: string | null;
  reason: string;
  set_by: string;
  set_at: Date;
  lifted_by: string | null;
  lifted_at: Date | null;
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
  tools: ToolsTable;
  space_revisions: SpaceRevisionsTable;
  space_policy_preferences: SpacePolicyPreferencesTable;
  space_policy_audit: SpacePolicyAuditTable;
  space_rules: SpaceRulesTable;
  space_rules_audit: SpaceRulesAuditTable;
  halts: HaltsTable;
  rate_calls: RateCallsTable;
}
