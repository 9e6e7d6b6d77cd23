import type { HoldpointEvent } from '@holdpoint/contracts';
import { type EventContext, OnEvent } from '@holdpoint/eventing';
import { Controller } from '@nestjs/common';
import { Board } from '../board.js';

@Controller()
export class OnRunCompleted {
  constructor(private readonly board: Board) {}

  @OnEvent('run.completed.>')
  async handle(event: HoldpointEvent<'run.completed'>, ctx: EventContext): Promise<void> {
    if (event.data.taskId !== undefined) await ctx.once((tx) => this.board.conclude(tx, event));
  }
}
