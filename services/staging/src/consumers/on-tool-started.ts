import type { HoldpointEvent } from '@holdpoint/contracts';
import { type EventContext, OnEvent } from '@holdpoint/eventing';
import { Controller } from '@nestjs/common';
import { ExecutionNews } from '../execution-news.js';

@Controller()
export class OnToolStarted {
  constructor(private readonly news: ExecutionNews) {}

  @OnEvent('tool.started.>')
  handle(event: HoldpointEvent<'tool.started'>, ctx: EventContext): Promise<void> {
    return this.news.note(event, ctx, 'executing');
  }
}
