import type {
  ApprovalRequirement,
  approvalDecided,
  approvalStatus,
  executionState,
  Hint,
  Outcome,
  Principal,
  Role,
  Source,
} from '@holdpoint/contracts';
import type { ColumnType } from 'kysely';
import type { z } from 'zod';

/** Written as JSON text; the driver would take an array for one of the database's. */
type Requirements = ColumnType<ApprovalRequirement[] | null, string | null, never>;

export interface FrozenCallsTable {
  call_id: string;
  space_id: string;
  number: number;
  run_id: string;
  conversation_id: string;
  task_id: string | null;
  agent: string;
  model: string;
  source: Source;
  principal_kind: Principal['kind'];
  principal_id: string;
  server: string;
  tool: string;
  action: string | null;
  schema_digest: string;
  digest: string;
  /** The sealed frozen box as JSON text, as the proposal carried it. */
  frozen: string;
  hint: Hint;
  scope: 'user' | 'admin';
  origin: 'builtin' | 'foreign';
  flags: string[];
  rule: string;
  policy_version: string;
  verdict_seq: number;
  /** As the proposal carried it. */
  traceparent: string | null;
  /** What a release has to meet, all of it; null: one owner or admin. */
  requirements: Requirements;
  staged_at: Date;
  expires_at: Date;

  status: z.infer<typeof approvalStatus>;
  decided_at: Date | null;
  /** Id of a person: nobody else decides. */
  decided_by: string | null;
  cause: z.infer<typeof approvalDecided.data>['cause'] | null;
  /** Version of the policy under which it was decided. */
  decided_under: string | null;
  /** A sealed box as JSON text. */
  reason: string | null;
  execution: z.infer<typeof executionState> | null;
  /** Stream sequence of the event that `execution` is from. */
  execution_seq: number | null;
  outcome: Outcome | null;
}

export interface VotesTable {
  call_id: string;
  voter: string;
  /** What the voter was when they voted. */
  role: Role;
  groups: string[];
  /** Of what they saw. */
  digest: string;
  at: Date;
  /** A sealed box as JSON text. */
  reason: string | null;
  /** What policy asked for when the vote was cast, besides what is frozen with the call. */
  requirements: Requirements;
}

export interface CountersTable {
  space_id: string;
  last: number;
}

export interface StagingDatabase {
  frozen_calls: FrozenCallsTable;
  counters: CountersTable;
  votes: VotesTable;
}
