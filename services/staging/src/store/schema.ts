import type {
  approvalDecided,
  approvalStatus,
  executionState,
  Hint,
  Outcome,
  Principal,
  Source,
} from '@holdpoint/contracts';
import type { z } from 'zod';

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

export interface CountersTable {
  space_id: string;
  last: number;
}

export interface StagingDatabase {
  frozen_calls: FrozenCallsTable;
  counters: CountersTable;
}
