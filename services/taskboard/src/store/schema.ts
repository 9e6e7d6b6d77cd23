import type { Principal } from '@holdpoint/contracts';
import type { TaskRow } from '../domain/task-row.js';

export interface Database {
  tasks: TaskRow;
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
