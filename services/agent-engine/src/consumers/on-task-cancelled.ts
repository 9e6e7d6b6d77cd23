import type { HoldpointEvent } from '@holdpoint/contracts';
import { type EventContext, OnEvent, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { Controller } from '@nestjs/common';
import { completedEvent } from '../run/receipt.js';
import { Runs } from '../store/runs.js';

@Controller()
export class OnTaskCancelled {
  constructor(
    private readonly runs: Runs,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
  ) {}

  /** A queued run ends here; a running one learns of it with its next heartbeat. */
  @OnEvent('task.cancelled.>')
  async handle(event: HoldpointEvent<'task.cancelled'>, ctx: EventContext): Promise<void> {
    await ctx.once(async (tx) => {
      for (const run of await this.runs.requestCancel(tx, event.subject)) {
        if (run.state !== 'queued') continue;
        const to = { state: 'cancelled' as const, reason: 'task-cancelled' };
        const ended = await this.runs.complete(tx, run.run_id, { state: 'queued' }, to);
        if (ended) await this.outbox.add(tx, completedEvent(ended));
      }
    });
    this.relay.poke();
  }
}
