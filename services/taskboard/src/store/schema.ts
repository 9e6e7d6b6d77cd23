import type { Principal, TaskState } from '@holdpoint/contracts';

export interface Database {
  tasks: {
    task_id: string;
    space_id: string;
    kind: 'wake-up' | 'prompt';
    call_id: string | null;
    conversation_id: string;
    agent: string;
    /** The contract's TaskWork as JSON text; its content is sealed. */
    work: string;
    created_by_kind: Principal['kind'];
    created_by_id: string;
    state: TaskState;
    attempt: number;
    attempt_limit: number;
    due_at: Date;
    lease_until: Date | null;
    run_id: string | null;
    reason: string | null;
    cancelled_by_kind: Principal['kind'] | null;
    cancelled_by_id: string | null;
    traceparent: string | null;
    created_at: Date;
    updated_at: Date;
  };
  approvals: {
    call_id: string;
    space_id: string;
    number: number;
    by_kind: Principal['kind'] | null;
    by_id: string | null;
    /** The sealed box as JSON text. */
    reason: string | null;
  };
}
