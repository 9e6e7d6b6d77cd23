import type { HoldpointEvent } from '@holdpoint/contracts';
import { type EventContext, OnEvent } from '@holdpoint/eventing';
import { Controller } from '@nestjs/common';
import { registry } from '../store/registry.js';

/** Keeps what each space's agents can do, as their engines announced it last. */
@Controller()
export class OnToolAnnounced {
  @OnEvent('tool.announced.>')
  async handle(event: HoldpointEvent<'tool.announced'>, ctx: EventContext): Promise<void> {
    await ctx.once((tx) => registry.put(tx, event, ctx.seq));
  }
}
