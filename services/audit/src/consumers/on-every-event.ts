import { setTimeout as delay } from 'node:timers/promises';
import { type BatchConsumer, Bus, consumeBatches, type RawMessage } from '@holdpoint/eventing';
import { DATABASE, type DatabaseSession, isInfrastructureFault, openSession, registerHealth } from '@holdpoint/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { type AuditConfig, CONFIG } from '../config.js';
import { Checkpointing } from '../log/checkpointing.js';
import { LogHalted } from '../log/log-halted.js';
import { LogKeeper } from '../log/log-keeper.js';
import { CONSUMER, Stream, toStreamMessage } from '../log/stream.js';
import { Turns } from '../log/turns.js';
import type { Database } from '../store/schema.js';

/**
 * `standby`: another instance writes. `waiting`: something this needs is down. `halted`: the log and the stream disagree, or
 * a fault of our own. In the last two readiness fails, and it is tried again all the same.
 */
export type WriterState = 'starting' | 'standby' | 'catching-up' | 'writing' | 'waiting' | 'halted';

/** How often a writer without work looks whether stream, log and session are still what they were. */
const WATCH_MS = 5_000;
/** A writer that is frozen asks nothing any more: the server ends its session, and a standby takes over. */
const SILENT_SESSION_MS = 12_000;

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
  #fault: Error | undefined;
  #consumer: BatchConsumer | undefined;
  #running: Promise<void> | undefined;

  constructor(
    @Inject(DATABASE) private readonly db: Kysely<Database>,
    private readonly bus: Bus,
    private readonly stream: Stream,
    @Inject(CONFIG) private readonly config: AuditConfig,
  ) {
    this.#unregister = registerHealth('audit-log', async () => {
      if (this.#state === 'waiting' || this.#state === 'halted') throw new Error(`the log is ${this.#state}`);
      this.#consumer?.check();
    });
  }

  get state(): WriterState {
    return this.#state;
  }

  /** Stable code of what halted the log; null unless `halted`. */
  get fault(): string | null {
    return this.#fault ? (this.#fault instanceof LogHalted ? this.#fault.code : 'audit.internal') : null;
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
    while (!this.#stopping.signal.aborted) {
      let session: DatabaseSession<Database> | undefined;
      try {
        session = await openSession<Database>(this.config.DATABASE_URL, { applicationName: 'audit' });
        if (await this.#becomeWriter(session.db)) await this.#write(session);
      } catch (err) {
        this.#failed(err);
      } finally {
        // And with it the lock.
        await session?.close();
      }
      await this.#pause();
    }
  }

  /** Stands by until the lock is had; false when told to stop before. */
  async #becomeWriter(session: Kysely<Database>): Promise<boolean> {
    while (!this.#stopping.signal.aborted) {
      const { rows } = await sql<{ mine: boolean }>`SELECT pg_try_advisory_lock(${LOCK}) AS mine`.execute(session);
      if (rows[0]?.mine) {
        await sql`SELECT set_config('idle_session_timeout', ${String(SILENT_SESSION_MS)}, false)`.execute(session);
        return true;
      }
      this.#enter('standby');
      await this.#pause();
    }
    return false;
  }

  async #pause(): Promise<void> {
    const { signal } = this.#stopping;
    await delay(this.config.AUDIT_RETRY_MS, undefined, { signal }).catch(() => undefined);
  }

  /** Writes until told to stop. @throws what hinders it */
  async #write(session: DatabaseSession<Database>): Promise<void> {
    const keeper = new LogKeeper(session, this.stream);
    await keeper.begin();
    if (this.config.AUDIT_AFTER_RESTORE === 'catch-up') await keeper.catchUp();
    const checkpoints = await Checkpointing.begin(session, keeper.edge, {
      db: this.db,
      bus: this.bus,
      settings: this.config,
    });
    try {
      await this.#take(keeper, checkpoints);
    } finally {
      await checkpoints.end();
    }
  }

  async #take(keeper: LogKeeper, checkpoints: Checkpointing): Promise<void> {
    const { signal } = this.#stopping;
    // What halted the log stands until it is known to be over, so that nobody is told in between that all is well. What the
    // catching up looks at is over once that has passed; any other fault came of a delivery, and comes again with it.
    if (this.#fault === undefined) this.#enter('catching-up');
    await keeper.catchUp();
    if (this.#fault === undefined || foundByCheck(this.#fault)) this.#enter('writing');
    const end = Promise.withResolvers<void>();
    const stop = () => end.resolve();
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    const turns = new Turns();
    let signing: NodeJS.Timeout | undefined;
    const sign = async () => {
      signing = undefined;
      await turns.run(() => checkpoints.make(keeper.edge));
    };
    const signWhenDue = async () => {
      const dueIn = checkpoints.dueIn(keeper.edge);
      if (dueIn === 0) await sign();
      else if (dueIn !== null) signing ??= setTimeout(() => void sign().catch(end.reject), dueIn);
    };
    const take = async (batch: RawMessage[]) => {
      try {
        await turns.run(() => keeper.take(batch.map(toStreamMessage)));
        if (this.#state === 'halted') this.#enter('writing');
        await signWhenDue();
      } catch (err) {
        end.reject(err);
        throw err;
      }
    };
    await signWhenDue();
    this.#consumer = consumeBatches({ bus: this.bus, consumer: CONSUMER, max: this.config.AUDIT_BATCH_MAX }, take);
    const watch = setInterval(() => void turns.run(() => keeper.check()).catch(end.reject), WATCH_MS);
    try {
      await end.promise;
    } finally {
      clearInterval(watch);
      signal.removeEventListener('abort', stop);
      await this.#consumer.stop();
      this.#consumer = undefined;
      clearTimeout(signing);
    }
    await sign();
  }

  #failed(err: unknown): void {
    if (isInfrastructureFault(err)) {
      this.#log.warn(`the log waits: ${(err as Error).message}`);
      this.#enter('waiting');
      return;
    }
    const fault = err instanceof Error ? err : new Error(String(err));
    if (this.#fault?.message !== fault.message) this.#log.fatal('the log is halted', fault);
    this.#enter('halted', fault);
  }

  #enter(state: WriterState, fault?: Error): void {
    if (state !== this.#state) this.#log.log(`${this.#state} → ${state}`);
    this.#state = state;
    this.#fault = fault;
  }
}

const foundByCheck = (fault: Error): boolean => fault instanceof LogHalted && fault.code !== 'audit.gap';
