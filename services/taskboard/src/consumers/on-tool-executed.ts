import type { HoldpointEvent } from '@holdpoint/contracts';
import { type EventContext, OnEvent, RetryLater } from '@holdpoint/eventing';
import { Controller } from '@nestjs/common';
import { Board } from '../board.js';
import { wakeUpAfterExecution } from '../domain/wake-up.js';
import { Scanner } from '../scanner.js';
import { Approvals } from '../store/approvals.js';

const APPROVAL_WAIT_MS = 100;
const MOST_WAITS = 30;

@Controller()
export class OnToolExecuted {
  constructor(
    private readonly board: Board,
    private readonly approvals: Approvals,
    private readonly scanner: Scanner,
  ) {}

  /**
   * The approval stands at a lower sequence, but another consumer takes it in. Its number is worth a short wait; should it
   * never come, the agent is woken without it.
   */
  @OnEvent('tool.executed.>')
  async handle(event: HoldpointEvent<'tool.executed'>, ctx: EventContext): Promise<void> {
    if (wakeUpAfterExecution(event, null) === null) return;
    const approval = await this.approvals.find(event.spaceid, event.subject);
    if (approval === null && ctx.deliveries <= MOST_WAITS) throw new RetryLater(APPROVAL_WAIT_MS);
    const wakeUp = wakeUpAfterExecution(event, approval);
    if (wakeUp === null) return;
    await ctx.once((tx) => this.board.wakeUp(tx, event, wakeUp));
    this.scanner.poke();
  }
}
