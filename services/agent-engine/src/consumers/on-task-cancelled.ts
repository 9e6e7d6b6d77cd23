import type { HoldpointEvent } from '@holdpoint/contracts';
import { type EventContext, OnEvent } from '@holdpoint/eventing';
import { Controller } from '@nestjs/common';
import { CancelRun } from '../run/cancel-run.js';

@Controller()
export class OnTaskCancelled {
  constructor(private readonly cancelRun: CancelRun) {}

  @OnEvent('task.cancelled.>')
  async handle(event: HoldpointEvent<'task.cancelled'>, ctx: EventContext): Promise<void> {
    let running: string[] = [];
    await ctx.once(async (tx) => {
      running = await this.cancelRun.cancel(tx, { taskId: event.subject }, 'task-cancelled');
    });
    this.cancelRun.wake(running);
  }
}
