import type { HoldpointEvent, Outcome } from '@holdpoint/contracts';
import type { EventContext } from '@holdpoint/eventing';
import { Logger } from '@nestjs/common';
import { FrozenCalls } from './store/frozen-calls.js';

type Execution = HoldpointEvent<'tool.started' | 'tool.executed' | 'tool.in-doubt'>;

/** Keeps beside each released call what became of it. Calls that nobody held are none of staging's business. */
export class ExecutionNews {
  readonly #log = new Logger('Staging');

  constructor(private readonly calls: FrozenCalls) {}

  async note(
    event: Execution,
    ctx: EventContext,
    state: 'executing' | 'in-doubt' | 'closed',
    outcome: Outcome | null = null,
  ): Promise<void> {
    if (!event.data.held) return;
    const call = await this.calls.find(event.subject);
    if (call?.status !== 'approved' || call.space_id !== event.spaceid)
      this.#log.error(`ALARM: ${event.type} of call ${event.subject} as held, but it is ${call?.status ?? 'not held'}`);
    await ctx.once((tx) => this.calls.noteExecution(tx, event.subject, { state, seq: ctx.seq, outcome }));
  }
}
