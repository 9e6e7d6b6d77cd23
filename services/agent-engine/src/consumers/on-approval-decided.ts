import type { HoldpointEvent } from '@holdpoint/contracts';
import { OnEvent } from '@holdpoint/eventing';
import { Controller } from '@nestjs/common';
import { FrozenCallExecutor } from '../gate/frozen-call-executor.js';

@Controller()
export class OnApprovalDecided {
  constructor(private readonly executor: FrozenCallExecutor) {}

  /** No inbox: the claim row is what makes a second delivery harmless, and it outlives any inbox. */
  @OnEvent('approval.decided.>')
  async handle(event: HoldpointEvent<'approval.decided'>): Promise<void> {
    await this.executor.execute(event);
  }
}
