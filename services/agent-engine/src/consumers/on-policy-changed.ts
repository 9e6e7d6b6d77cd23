import { type Bus, onHint } from '@holdpoint/eventing';
import type { SpacePolicyClient } from '@holdpoint/runtime';
import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common';

/**
 * Forgets what is known of a space's policy once it changes. By the live message and no durable consumer: each instance
 * has something to forget. One that is missed costs no more than the time that answers are kept.
 */
export class OnPolicyChanged implements OnModuleInit, OnModuleDestroy {
  #end: (() => void) | undefined;

  constructor(
    private readonly bus: Bus,
    private readonly policies: SpacePolicyClient,
  ) {}

  onModuleInit(): void {
    this.#end = onHint(this.bus, 'policy.changed', (spaceId) => this.policies.drop(spaceId));
  }

  onModuleDestroy(): void {
    this.#end?.();
  }
}
