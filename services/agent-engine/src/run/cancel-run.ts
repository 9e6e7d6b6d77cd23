import { Outbox, OutboxRelay } from '@holdpoint/eventing';
import { inTraceOf } from '@holdpoint/runtime';
import type { Transaction } from 'kysely';
import type { Runs } from '../store/runs.js';
import type { Database } from '../store/schema.js';
import { completedEvent } from './receipt.js';
import type { Runner } from './runner.js';

/**
 * Cancels runs. A queued one ends at once. A running one is told: its round of the model is aborted, calls that are not
 * yet proposed never are, and an effect under way is finished and reported as `cancelled`.
 */
export class CancelRun {
  constructor(
    private readonly runs: Runs,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    private readonly runner: Runner,
  ) {}

  /** @returns the runs that some engine is playing; pass them to `wake` once the transaction has committed. */
  async cancel(
    tx: Transaction<Database>,
    which: { taskId: string } | { runId: string },
    reason: string,
  ): Promise<string[]> {
    const running: string[] = [];
    for (const run of await this.runs.requestCancel(tx, which)) {
      if (run.state === 'running') running.push(run.run_id);
      else {
        const ended = await this.runs.complete(tx, run.run_id, { state: 'queued' }, { state: 'cancelled', reason });
        const named = { 'holdpoint.run.id': run.run_id, 'holdpoint.space.id': run.space_id };
        if (ended)
          await inTraceOf(run.traceparent, 'cancel run', named, () => this.outbox.add(tx, completedEvent(ended)));
      }
    }
    return running;
  }

  /** Another engine learns of it with its next heartbeat, within a second. */
  wake(running: readonly string[]): void {
    for (const runId of running) this.runner.abort(runId);
    this.relay.poke();
    this.runner.poke();
  }
}
