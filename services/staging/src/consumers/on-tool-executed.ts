import type { HoldpointEvent } from '@holdpoint/contracts';
import { type EventContext, OnEvent } from '@holdpoint/eventing';
import { Controller } from '@nestjs/common';
import { ExecutionNews } from '../execution-news.js';

@Controller()
export class OnToolExecuted {
  constructor(private readonly news: ExecutionNews) {}

  @OnEvent('tool.executed.>')
  handle(event: HoldpointEvent<'tool.executed'>, ctx: EventContext): Promise<void> {
    return this.news.note(event, ctx, 'closed', event.data.status);
  }
}
