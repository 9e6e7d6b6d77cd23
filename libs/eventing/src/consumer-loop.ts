import { STREAM } from '@holdpoint/contracts';
import { passed } from '@holdpoint/runtime';
import type { JsMsg } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { Bus } from './bus.js';
import { explain } from './dead-letters.js';
import type { Verdict } from './deliver.js';
import { Backoff, Bell, pauseFor } from './pause.js';
import { pull } from './pull.js';
import { Slots } from './slots.js';

/** How much later than asked for a message may come again: a broker or a process that is busy takes its time. */
const GRACE_MS = 1_000;

export interface ConsumerLoopOptions {
  bus: Bus;
  consumer: string;
  /** Messages being handled at once; up to as many again wait their turn. */
  concurrency: number;
  deliver: (message: JsMsg) => Promise<Verdict>;
}

/**
 * Pulls from one durable consumer for as long as the process lives: restarts of the server, lost connections and a
 * consumer that is not there yet are waited for. Messages about one entity are handled one after the other in the order
 * of arrival; while one of them is to come again, those behind it have to wait. Other instances know nothing of that.
 */
export class ConsumerLoop {
  readonly #log = new Logger('Eventing');
  readonly #inHand = new Map<JsMsg, Promise<void>>();
  /** The last delivery of each entity in hand. */
  readonly #lanes = new Map<string, Promise<void>>();
  /** Entities whose event `seq` is to come again, and until when the events behind it wait for it. */
  readonly #held = new Map<string, { seq: number; until: number }>();
  readonly #slots: Slots;
  readonly #handled = new Bell();
  readonly #stopping = new AbortController();
  readonly #backoff = new Backoff();
  #pausedUntil = 0;
  #consuming = false;
  #keepAlive: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(private readonly options: ConsumerLoopOptions) {
    this.#slots = new Slots(options.concurrency);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when what was begun is handled; the other messages in hand are given back. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#handled.ring();
    await this.#running;
  }

  get consumer(): string {
    return this.options.consumer;
  }

  get consuming(): boolean {
    return this.#consuming;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#consume(signal);
      } catch (err) {
        this.#consuming = false;
        this.#log.warn(`${this.consumer} is not being consumed: ${explain(err)}`);
        await pauseFor(1_000, signal);
      }
    }
    await Promise.all(this.#inHand.values());
    clearInterval(this.#keepAlive);
  }

  async #consume(signal: AbortSignal): Promise<void> {
    const { bus, concurrency } = this.options;
    const consumer = await bus.js.consumers.get(STREAM, this.consumer);
    const { ack_wait = 30e9 } = (await consumer.info(true)).config;
    this.#consuming = true;
    // What is in hand is not handed out again, however long it takes.
    clearInterval(this.#keepAlive);
    this.#keepAlive = setInterval(() => {
      for (const message of this.#inHand.keys()) answer(() => message.working());
    }, ack_wait / 3e6);
    while (!signal.aborted) {
      await pauseFor(this.#pauseLeft(), signal);
      while (this.#inHand.size >= concurrency && !signal.aborted) await this.#handled.heard(Number.POSITIVE_INFINITY);
      for await (const message of pull(consumer, concurrency, signal)) this.#take(message);
    }
  }

  #take(message: JsMsg): void {
    const entity = message.subject.split('.').slice(-2).join('.');
    const turn = this.#inTurn(message, entity, this.#lanes.get(entity));
    this.#lanes.set(entity, turn);
    this.#inHand.set(
      message,
      turn.then(() => {
        this.#inHand.delete(message);
        if (this.#lanes.get(entity) === turn) this.#lanes.delete(entity);
        this.#handled.ring();
      }),
    );
  }

  async #inTurn(message: JsMsg, entity: string, before: Promise<void> | undefined): Promise<void> {
    await before;
    if (this.#stopping.signal.aborted) return answer(() => message.nak());
    const held = this.#held.get(entity);
    const wait = held && held.seq < message.seq ? Math.ceil(held.until - performance.now()) : 0;
    if (wait > 0) return answer(() => message.nak(wait));
    const again = await this.#slots.run(() => this.#deliver(message));
    if (again === undefined) this.#held.delete(entity);
    else this.#comesAgain(message, entity, again);
  }

  #comesAgain(message: JsMsg, entity: string, ms: number): void {
    const hold = { seq: message.seq, until: performance.now() + ms + GRACE_MS };
    this.#held.set(entity, hold);
    // It may come again to another instance.
    setTimeout(() => this.#held.get(entity) === hold && this.#held.delete(entity), ms + GRACE_MS).unref();
    answer(() => message.nak(ms));
  }

  /** Undefined when the message is done with, else after how many milliseconds it has to come again. */
  async #deliver(message: JsMsg): Promise<number | undefined> {
    const { bus, deliver } = this.options;
    const { signal } = this.#stopping;
    if (signal.aborted) return 0;
    if (this.#pauseLeft() > 0) return this.#pauseLeft();
    const verdict = await deliver(message);
    // Sent without a connection, the answer would be dropped and the message come again only after its time is up.
    await bus.connected(signal);
    if (verdict.kind === 'retry') return Math.max(1, Math.ceil(verdict.ms));
    if (verdict.kind === 'pause') return this.#pause();
    this.#backoff.reset();
    if (verdict.kind !== 'dead') passed('ack', message.subject);
    // No reason with `term`: servers before 2.10.4 ignore the whole answer then.
    answer(() => (verdict.kind === 'dead' ? message.term() : message.ack()));
    return undefined;
  }

  /** Stops the pulling for a while. Faults of one and the same outage count once. */
  #pause(): number {
    if (this.#pauseLeft() === 0) this.#pausedUntil = performance.now() + this.#backoff.next();
    return this.#pauseLeft();
  }

  #pauseLeft(): number {
    return Math.max(0, Math.ceil(this.#pausedUntil - performance.now()));
  }
}

/** An answer that cannot be sent is not missed: the message is handed out again. */
function answer(send: () => void): void {
  try {
    send();
  } catch {
    // the connection is closed
  }
}
