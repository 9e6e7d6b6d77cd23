import type { HoldpointEvent } from '@holdpoint/contracts';
import { type EventContext, OnEvent } from '@holdpoint/eventing';
import { Controller } from '@nestjs/common';
import { Board } from '../board.js';
import { wakeUpAfterDecision } from '../domain/wake-up.js';
import { Scanner } from '../scanner.js';
import { Approvals } from '../store/approvals.js';

@Controller()
export class OnApprovalDecided {
  constructor(
    private readonly board: Board,
    private readonly approvals: Approvals,
    private readonly scanner: Scanner,
  ) {}

  @OnEvent('approval.decided.>')
  async handle(event: HoldpointEvent<'approval.decided'>, ctx: EventContext): Promise<void> {
    const wakeUp = wakeUpAfterDecision(event);
    await ctx.once(async (tx) => {
      if (event.data.decision === 'approved') await this.approvals.add(tx, event);
      else if (wakeUp !== null) await this.board.wakeUp(tx, event, wakeUp);
    });
    if (wakeUp !== null) this.scanner.poke();
  }
}
