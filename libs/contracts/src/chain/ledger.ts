import type { CallRef, ExecutionClass, Hint, Outcome } from '../call.js';
import type { RunStatus } from '../events/run.js';
import type { TaskWork, WakeUp } from '../events/task.js';
import type { Role } from '../principal.js';
import type { CallState } from './call-table.js';
import { type CheckCounts, noCounts, type Violation } from './report.js';
import type { RunState, TaskState } from './task-table.js';

/** What the wake-up of a held call has to say. */
export interface DueWakeUp {
  outcome: WakeUp['outcome'];
  status: Outcome | null;
  settled: boolean;
  /** A call that was cancelled may have a wake-up, every other one must. */
  must: boolean;
}

export interface Call {
  state: CallState;
  seq: number;
  spaceId: string;
  runId: string | undefined;
  ref: CallRef;
  proposalSeq: number;
  hint: Hint;
  executionClass: ExecutionClass;
  /** The facts that can be stated once and have been. */
  facts: Set<string>;
  /** An automatic verdict counted, or a person approved. */
  released: boolean;
  /** A person approved. */
  held: boolean;
  number: number | null;
  expiresAt: string | null;
  attempt: number;
  wake: DueWakeUp | null;
}

export interface Run {
  state: RunState;
  seq: number;
  spaceId: string;
  agent: string;
  /** Provenance as it was stamped at the start, but for the model, which may be configured anew while the run waits. */
  stamp: string;
  conversationId: string;
  taskId: string | undefined;
  attempt: number | undefined;
  startedAt: number;
  /** A run of the same conversation that started after this one, and while this one was running as the stream has it. */
  next: { runId: string; startedAt: number } | null;
}

export interface Task {
  state: TaskState;
  seq: number;
  spaceId: string;
  work: TaskWork;
  /** The last attempt that was offered; 0 before the first. */
  attempt: number;
  /** The task was opened again since, so the next offer is the next attempt. */
  retried: boolean;
  /** The run that its cancellation named. */
  cancelledRun: string | null;
  runs: Map<number, { runId: string; started: boolean; status: RunStatus | null }>;
}

/**
 * What is kept of an entity of which nothing more may be heard, so that memory follows the open ones. `cut`: its beginning
 * is not in the stream, so nothing can be said about it.
 */
export type Past = 'closed' | 'closed-abandoned' | 'cut';

/** Everything that the grammar remembers while it reads. */
export class Ledger {
  readonly calls = new Map<string, Call | Past>();
  readonly runs = new Map<string, Run | Past>();
  readonly tasks = new Map<string, Task | Past>();
  /** The members of each space whose beginning is in the stream. */
  readonly spaces = new Map<string, Map<string, Role> | 'cut'>();
  /** The run of each conversation that started last and has not ended. */
  readonly busy = new Map<string, string>();
  /** Numbers for people that have been given out, `acme#42`. */
  readonly numbers = new Set<string>();
  /** Runs that a call named and that have not been queued, with the sequence of that call's event. */
  readonly runsOwed = new Map<string, number>();
  readonly counts: CheckCounts = noCounts();
  readonly violations: Violation[] = [];
  /** The stream once began before its first message: an entity may have lost its beginning to old age. */
  beheaded = false;

  found(code: string, seq: number, entity: string, message: string): void {
    this.violations.push({ code, seq, entity, message });
  }

  /** What to remember of an entity whose first event is not a beginning; a violation unless the stream lost its head. */
  withoutBeginning(code: string, seq: number, entity: string, message: string): Past {
    if (this.beheaded) this.counts.cut++;
    else this.found(code, seq, entity, message);
    return 'cut';
  }
}

/** Whether an entity is still followed event by event. */
export const isFollowed = <T extends object>(known: T | Past | undefined): known is T => typeof known === 'object';

/** Forgets all of a call but that it has ended: any further event of it is a violation. */
export function end(ledger: Ledger, callId: string, call: Call): void {
  ledger.calls.set(callId, call.facts.has('tool.abandoned') ? 'closed-abandoned' : 'closed');
}
