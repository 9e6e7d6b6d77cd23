import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, BUS, consumeBatches } from '@holdpoint/eventing';
import { DATABASE, isInfrastructureFault, registerHealth } from '@holdpoint/runtime';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { type AuditConfig, CONFIG } from '../config.js';
import { LogHalted, LogKeeper } from '../store/log-keeper.js';
import type { Database } from '../store/schema.js';
import { CONSUMER, hasBrokerHeaders, Stream } from '../store/stream.js';

/** `standby`: another instance writes. `waiting`: something this needs is down. `halted`: the log and the stream disagree. */
export type WriterState = 'starting' | 'standby' | 'writing' | 'waiting' | 'halted';

/** Names the one writer's lock among the database's advisory locks. */
const LOCK = sql`hashtextextended('holdpoint.audit.writer', 0)`;

/**
 * Stores every message of the stream. One instance at a time, the holder of a session's advisory lock, and it writes in that
 * very session: with the lock it loses the means to write.
 */
@Injectable()
export class OnEveryEvent implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #log = new Logger('AuditLog');
  readonly #stopping = new AbortController();
  readonly #unregister: () => void;
  #state: WriterState = 'starting';
  #halted: LogHalted | undefined;
  #running: Promise<void> | undefined;

  constructor(
    @Inject(DATABASE) private readonly db: Kysely<Database>,
    @Inject(BUS) private readonly bus: Bus,
    private readonly stream: Stream,
    @Inject(CONFIG) private readonly config: AuditConfig,
  ) {
    this.#unregister = registerHealth('audit-log', async () => {
      if (this.#halted) throw this.#halted;
    });
  }

  get state(): WriterState {
    return this.#state;
  }

  /** Why nothing is written any more; undefined unless `halted`. */
  get halted(): LogHalted | undefined {
    return this.#halted;
  }

  onApplicationBootstrap(): void {
    this.#running ??= this.#run();
  }

  async onModuleDestroy(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#unregister();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.db.connection().execute((session) => this.#inSession(session));
      } catch (err) {
        this.#failed(err);
      }
      await delay(this.config.AUDIT_RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #inSession(session: Kysely<Database>): Promise<void> {
    const { rows } = await sql<{ mine: boolean }>`SELECT pg_try_advisory_lock(${LOCK}) AS mine`.execute(session);
    if (!rows[0]?.mine) {
      this.#enter('standby');
      return;
    }
    try {
      await this.#write(session);
    } finally {
      // A broken session has lost the lock already.
      await sql`SELECT pg_advisory_unlock(${LOCK})`.execute(session).catch(() => undefined);
    }
  }

  /** Writes until told to stop. @throws what hinders it */
  async #write(session: Kysely<Database>): Promise<void> {
    const { signal } = this.#stopping;
    const keeper = new LogKeeper(session, this.stream);
    await keeper.catchUp();
    this.#enter('writing');
    const end = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => end.resolve(), { once: true });
    if (signal.aborted) end.resolve();
    const consumer = consumeBatches(
      { bus: this.bus, consumer: CONSUMER, max: this.config.AUDIT_BATCH_MAX },
      async (batch) => {
        try {
          await keeper.take(batch.map(({ headers, ...m }) => ({ ...m, brokerHeaders: hasBrokerHeaders(headers) })));
        } catch (err) {
          end.reject(err);
          throw err;
        }
      },
    );
    try {
      await end.promise;
    } finally {
      await consumer.stop();
    }
  }

  #failed(err: unknown): void {
    if (err instanceof LogHalted) {
      if (this.#halted?.message !== err.message) this.#log.fatal(err.message);
      this.#enter('halted', err);
      return;
    }
    if (isInfrastructureFault(err)) this.#log.warn(`the log waits: ${(err as Error).message}`);
    else this.#log.error('the log could not be written', err);
    this.#enter('waiting', this.#halted);
  }

  #enter(state: WriterState, halted?: LogHalted): void {
    if (state !== this.#state) this.#log.log(`${this.#state} → ${state}`);
    this.#state = state;
    this.#halted = halted;
  }
}
