import { setTimeout as delay } from 'node:timers/promises';
import { Outbox, OutboxRelay } from '@holdpoint/eventing';
import { isInfrastructureFault } from '@holdpoint/runtime';
import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { withDecision } from './facts.js';
import { FrozenCalls } from './store/frozen-calls.js';
import type { StagingDatabase } from './store/schema.js';

const BATCH = 100;

/**
 * Marks overdue calls as expired. Only for the record: an overdue call cannot be approved whether it was swept or not.
 * Several instances may sweep at once; each row is taken by one of them.
 */
export class ExpirySweeper implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #log = new Logger('ExpirySweeper');
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    private readonly db: Kysely<StagingDatabase>,
    private readonly calls: FrozenCalls,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    private readonly everyMs: number,
  ) {}

  onApplicationBootstrap(): void {
    this.#running = this.#run();
  }

  async onModuleDestroy(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Expires what is overdue now and not being decided at this moment. @returns how many */
  async sweep(): Promise<number> {
    let total = 0;
    for (let taken = BATCH; taken === BATCH && !this.#stop.signal.aborted; total += taken) {
      taken = await this.db.transaction().execute(async (tx) => {
        const overdue = await this.calls.lockOverdue(tx, BATCH);
        for (const callId of overdue) {
          const expired = await this.calls.expire(tx, callId);
          if (expired !== undefined) await withDecision(expired, (event) => this.outbox.add(tx, event));
        }
        return overdue.length;
      });
    }
    if (total > 0) this.relay.poke();
    return total;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.sweep();
      } catch (err) {
        if (isInfrastructureFault(err)) this.#log.warn(`waiting for the database: ${(err as Error).message}`);
        else this.#log.error('the sweep failed and is tried again', err);
      }
      await delay(this.everyMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }
}
