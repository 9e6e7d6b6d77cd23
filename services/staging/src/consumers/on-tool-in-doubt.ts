import type { HoldpointEvent } from '@holdpoint/contracts';
import { type EventContext, OnEvent } from '@holdpoint/eventing';
import { Controller } from '@nestjs/common';
import { ExecutionNews } from '../execution-news.js';

@Controller()
export class OnToolInDoubt {
  constructor(private readonly news: ExecutionNews) {}

  @OnEvent('tool.in-doubt.>')
  handle(event: HoldpointEvent<'tool.in-doubt'>, ctx: EventContext): Promise<void> {
    return this.news.note(event, ctx, 'in-doubt');
  }
}
