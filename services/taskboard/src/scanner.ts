import { setTimeout as delay } from 'node:timers/promises';
import { OutboxRelay } from '@holdpoint/eventing';
import { DATABASE, isInfrastructureFault, registerHealth } from '@holdpoint/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { Board } from './board.js';
import { CONFIG, type TaskboardConfig } from './config.js';
import { offer } from './domain/decide.js';
import type { Database } from './store/schema.js';
import { Tasks } from './store/tasks.js';

const BATCH = 100;

/**
 * Offers what is due and takes back what nobody took. Any number of instances may scan at once: a row is offered by
 * whoever locks it, the others skip it, and the lease, not the instance, is what an offer hangs on.
 */
@Injectable()
export class Scanner implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #log = new Logger('Scanner');
  readonly #stopping = new AbortController();
  readonly #unregister: () => void;
  #bell = Promise.withResolvers<void>();
  #fault: unknown;
  #running: Promise<void> | undefined;

  constructor(
    @Inject(DATABASE) private readonly db: Kysely<Database>,
    private readonly tasks: Tasks,
    private readonly board: Board,
    private readonly relay: OutboxRelay,
    @Inject(CONFIG) private readonly config: TaskboardConfig,
  ) {
    this.#unregister = registerHealth('scanner', async () => {
      if (this.#fault) throw this.#fault;
    });
  }

  onApplicationBootstrap(): void {
    this.#running ??= this.#run();
  }

  async onModuleDestroy(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#unregister();
  }

  /** Scan now: something has become due. */
  poke(): void {
    this.#bell.resolve();
  }

  /** Takes back lapsed offers, then offers every due task. @returns how many it offered */
  async scan(): Promise<number> {
    await this.tasks.reopenLapsed();
    let offered = 0;
    for (;;) {
      const batch = await this.#offerBatch();
      if (batch > 0) this.relay.poke();
      offered += batch;
      if (batch < BATCH || this.#stopping.signal.aborted) return offered;
    }
  }

  /** Row, lease and event commit together. */
  #offerBatch(): Promise<number> {
    return this.db.transaction().execute(async (tx) => {
      const due = await this.tasks.lockDue(tx, BATCH);
      for (const { task, now } of due) {
        const draft = offer(task, now, this.config.TASK_LEASE_MS);
        if (draft !== null) await this.board.apply(tx, task, draft);
      }
      return due.length;
    });
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#bell = Promise.withResolvers<void>();
      try {
        await this.scan();
        this.#fault = undefined;
      } catch (err) {
        this.#fault = err;
        if (isInfrastructureFault(err)) this.#log.warn(`cannot scan: ${(err as Error).message}`);
        else this.#log.error('the scan failed', err);
        await delay(this.config.TASK_SCAN_MS, undefined, { signal }).catch(() => undefined);
      }
      const quiet = new AbortController();
      const pause = delay(this.config.TASK_SCAN_MS, undefined, { signal: AbortSignal.any([signal, quiet.signal]) });
      await Promise.race([pause.catch(() => undefined), this.#bell.promise]);
      quiet.abort();
    }
  }
}
