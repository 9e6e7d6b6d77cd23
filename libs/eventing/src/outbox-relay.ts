import { isInfrastructureFault, passed, Unavailable } from '@holdpoint/runtime';
import { Logger } from '@nestjs/common';
import { explain } from './dead-letters.js';
import { OutboxStore, type Row } from './outbox-store.js';
import { Backoff, Bell, pauseFor } from './pause.js';
import { EventPublisher } from './publisher.js';
import { SentWaiters } from './sent-waiters.js';

const BATCH = 500;
const POLL_MS = 1_000;
/** While somebody waits for another instance to send. */
const IMPATIENT_POLL_MS = 50;
const DRAIN_MS = 5_000;
const SILENT_MS = 15_000;
const STUCK_MS = 10_000;

export interface OutboxRelayOptions {
  /** Name of the service, for logs and `pg_stat_activity`. */
  service: string;
  /** As the service's role: its search path is the schema with the outbox. */
  databaseUrl: string;
  publisher: EventPublisher;
}

/**
 * Publishes what was committed to the outbox. Of all instances of a service one is active, by an advisory lock; when it
 * dies another takes over. Rows of one entity go one after the other in the order of their ids, entities side by side.
 * A row is marked after its PubAck and sent again until then, which the stream recognises.
 */
export class OutboxRelay {
  readonly #log = new Logger('OutboxRelay');
  readonly #waiters = new SentWaiters();
  readonly #backoff = new Backoff();
  readonly #stopping = new AbortController();
  readonly #pokes = new Bell();
  #running: Promise<void> | undefined;
  #store: OutboxStore | undefined;
  #stopBy = Number.POSITIVE_INFINITY;
  #lastTurn = 0;
  #stuckSince: number | undefined;

  constructor(private readonly options: OutboxRelayOptions) {}

  start(): void {
    this.#lastTurn = performance.now();
    this.#running ??= this.#run();
  }

  /** Sends what is committed, for at most 5 s, then gives the lock to another instance. */
  async stop(): Promise<void> {
    this.#stopBy = performance.now() + DRAIN_MS;
    this.#stopping.abort();
    this.poke();
    await this.#running;
    this.#waiters.rejectAll(new Unavailable('the relay was stopped'));
  }

  /** Tell the relay that a transaction with outbox rows has committed. Forgetting it costs up to a second, no event. */
  poke(): void {
    this.#pokes.ring();
  }

  /**
   * The sequence under which an event of the outbox is stored, once the stream has acknowledged it; by whichever instance.
   * @throws Unavailable when that does not happen in time: it may still happen
   * @throws Unpublishable when it never will
   */
  whenSent(eventId: string, timeoutMs: number): Promise<number> {
    const sent = this.#waiters.wait(eventId, timeoutMs);
    this.poke();
    return sent;
  }

  /** @throws when events cannot be sent now, or when one never can and somebody has to look into it. */
  async check(): Promise<void> {
    const now = performance.now();
    if (now - this.#lastTurn > SILENT_MS) throw new Error('the relay does not get through to the database');
    if (this.#stuckSince !== undefined && now - this.#stuckSince > STUCK_MS)
      throw new Error('the relay does not get through to the stream');
    const failures = (await this.#store?.failures()) ?? 0;
    if (failures > 0) throw new Error(`${failures} events of the outbox cannot be published`);
  }

  async #run(): Promise<void> {
    const backoff = new Backoff();
    while (!this.#stopping.signal.aborted) {
      try {
        this.#store = await OutboxStore.open(this.options.databaseUrl, this.options.service, () => this.poke());
        backoff.reset();
        await this.#session(this.#store);
      } catch (err) {
        this.#log.warn(`the relay starts over: ${explain(err)}`);
      }
      await this.#store?.close();
      this.#store = undefined;
      if (!this.#stopping.signal.aborted) await pauseFor(backoff.next(), this.#stopping.signal);
    }
  }

  async #session(store: OutboxStore): Promise<void> {
    let leading = false;
    while (!store.lost) {
      leading ||= await store.lead();
      this.#lastTurn = performance.now();
      const stopping = this.#stopping.signal.aborted;
      const progress = leading ? await this.#round(store) : 'none';
      if (stopping && (progress !== 'some' || performance.now() > this.#stopBy)) return;
      if (progress === 'fault') await pauseFor(this.#backoff.next(), this.#stopping.signal);
      if (progress !== 'none') continue;
      const waiting = this.#waiters.eventIds;
      if (waiting.length > 0) for (const settled of await store.settled(waiting)) this.#waiters.settle(settled);
      const poked = await this.#pokes.heard(this.#waiters.eventIds.length > 0 ? IMPATIENT_POLL_MS : POLL_MS);
      if (poked && !leading) await store.pokeLeader();
    }
    throw new Unavailable('the connection was lost');
  }

  async #round(store: OutboxStore): Promise<'none' | 'some' | 'fault'> {
    const rows = await store.unsent(BATCH);
    if (rows.length === 0) {
      this.#stuckSince = undefined;
      return 'none';
    }
    const round = new Round(this.options.publisher, (eventId, seq) =>
      this.#waiters.settle({ eventId, seq, failed: null }),
    );
    await Promise.all([...Map.groupBy(rows, (row) => row.entity).values()].map((chain) => round.send(chain)));
    if (round.sent.length > 0) await store.markSent(round.sent);
    for (const { row, error } of round.refused) {
      const why = explain(error);
      this.#log.error(`event ${row.id} on ${row.subject} cannot be published, its entity is held up: ${why}`);
      await store.markFailed(row.rowId, why);
      this.#waiters.settle({ eventId: row.id, seq: null, failed: why });
    }
    if (round.sent.length + round.refused.length > 0) {
      this.#backoff.reset();
      this.#stuckSince = undefined;
      return 'some';
    }
    this.#stuckSince ??= performance.now();
    this.#log.warn(`events wait in the outbox: ${explain(round.fault)}`);
    return 'fault';
  }
}

/** One batch on its way to the stream. */
class Round {
  readonly sent: { rowId: string; seq: number }[] = [];
  readonly refused: { row: Row; error: unknown }[] = [];
  fault: unknown;

  constructor(
    private readonly publisher: EventPublisher,
    private readonly onStored: (eventId: string, seq: number) => void,
  ) {}

  /**
   * Publishes the rows of one entity in order and stops at the first that does not get through. At most one a subject:
   * until it is marked, an event has to stay the last on its subject to be found there.
   */
  async send(chain: Row[]): Promise<void> {
    const subjects = new Set<string>();
    for (const row of chain) {
      if (subjects.has(row.subject)) return;
      subjects.add(row.subject);
      try {
        const known = row.old && !row.once ? await this.publisher.findLast(row) : null;
        const { seq } = known ?? (await this.publisher.store(row));
        this.sent.push({ rowId: row.rowId, seq });
        passed('publish', row.subject);
        this.onStored(row.id, seq);
      } catch (error) {
        if (isInfrastructureFault(error)) this.fault ??= error;
        else this.refused.push({ row, error });
        return;
      }
    }
  }
}
