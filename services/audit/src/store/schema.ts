import type { AuditEntry, Principal, RunStatus, Source } from '@holdpoint/contracts';
import type { Generated } from 'kysely';

/** Nothing here is ever updated or deleted but `position`, which only goes forward. */
export interface Database {
  event_log: {
    stream_seq: number;
    subject: string;
    body: Buffer;
    stored_at: Date;
    event_id: string | null;
    type: string | null;
    space_id: string | null;
    run_id: string | null;
    call_id: string | null;
    task_id: string | null;
    conversation_id: string | null;
    fault: string | null;
    duplicate: boolean;
    logged_at: Generated<Date>;
  };
  audit_log: {
    stream_seq: number;
    event_id: string;
    at: Date;
    kind: AuditEntry['kind'];
    space_id: string;
    run_id: string | null;
    task_id: string | null;
    call_id: string;
    conversation_id: string;
    agent: string;
    model: string;
    source: Source;
    principal_kind: Principal['kind'];
    principal_id: string;
    server: string;
    tool: string;
    action: string | null;
    status: AuditEntry['status'];
    arguments_seq: number | null;
    note: string;
    note_seq: number | null;
  };
  run_receipts: {
    stream_seq: number;
    run_id: string;
    space_id: string;
    task_id: string | null;
    attempt: number | null;
    conversation_id: string;
    agent: string;
    model: string;
    source: Source;
    principal_kind: Principal['kind'];
    principal_id: string;
    status: RunStatus;
    reason: string | null;
    steps: number;
    prompt_tokens: number;
    completion_tokens: number;
    cached_tokens: number;
    /** A decimal, as text. */
    cost_amount: string;
    cost_known: boolean;
    result_seq: number | null;
    duration_ms: number;
    completed_at: Date;
  };
  position: {
    only_row: Generated<boolean>;
    first_seq: number;
    last_seq: number;
    changed_at: Generated<Date>;
  };
  tree_tiles: {
    level: number;
    index: number;
    /** 256 hashes, one behind the other. */
    hashes: Buffer;
  };
  checkpoints: {
    number: number;
    size: number;
    root: Buffer;
    note: string;
    made_at: Generated<Date>;
  };
  signing_keys: {
    number: number;
    vkey: string;
    since_size: number;
    checkpoint: number;
    note: string;
    made_at: Generated<Date>;
  };
}
