import { STREAM } from '@holdpoint/contracts';
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { Bus } from './bus.js';
import { explain } from './dead-letters.js';
import type { Verdict } from './deliver.js';
import { Backoff, pauseFor } from './pause.js';

/** Short, so that a server which lost our request is noticed within seconds. */
export const PULL = { expires: 6_000, idle_heartbeat: 2_000 };

export interface ConsumerLoopOptions {
  bus: Bus;
  consumer: string;
  /** Messages in hand at once. */
  concurrency: number;
  deliver: (message: JsMsg) => Promise<Verdict>;
}

/**
 * Pulls from one durable consumer for as long as the process lives: restarts of the server, lost connections and a
 * consumer that is not there yet are waited for. Messages about one entity are handled one after the other in the order
 * of arrival; when one of them has to come again, those behind it that are in hand come again too.
 */
export class ConsumerLoop {
  readonly #log = new Logger('Eventing');
  readonly #inHand = new Map<JsMsg, Promise<void>>();
  /** The last delivery of each entity in hand; resolves to how long the next has to wait when it failed. */
  readonly #lanes = new Map<string, Promise<number | undefined>>();
  readonly #stopping = new AbortController();
  readonly #backoff = new Backoff();
  #pausedUntil = 0;
  #messages: ConsumerMessages | undefined;
  #consuming = false;
  #running: Promise<void> | undefined;

  constructor(private readonly options: ConsumerLoopOptions) {}

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when what is in hand is handled; messages that were not begun are given back. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#messages?.close();
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
        await this.#consume();
      } catch (err) {
        this.#log.warn(`${this.options.consumer} is not being consumed: ${explain(err)}`);
      }
      this.#consuming = false;
      if (!signal.aborted) await pauseFor(1_000, signal);
    }
    await Promise.all(this.#inHand.values());
  }

  async #consume(): Promise<void> {
    const { bus, consumer, concurrency } = this.options;
    const pulled = await bus.js.consumers.get(STREAM, consumer);
    const { ack_wait = 30e9 } = (await pulled.info(true)).config;
    this.#messages = await pulled.consume({ max_messages: concurrency, ...PULL });
    if (this.#stopping.signal.aborted) this.#messages.stop();
    this.#consuming = true;
    // Work in hand is not handed out again, however long it takes.
    const keepAlive = setInterval(() => {
      for (const message of this.#inHand.keys()) answer(() => message.working());
    }, ack_wait / 3e6);
    try {
      // Not asking for the next message is what stops the pulling.
      for await (const message of this.#messages) await this.#dispatch(message);
      await Promise.all(this.#inHand.values());
    } finally {
      clearInterval(keepAlive);
    }
  }

  async #dispatch(message: JsMsg): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted && performance.now() < this.#pausedUntil)
      await pauseFor(this.#pausedUntil - performance.now(), signal);
    while (!signal.aborted && this.#inHand.size >= this.options.concurrency) await Promise.race(this.#inHand.values());
    if (signal.aborted) return answer(() => message.nak());

    const entity = message.subject.split('.').slice(-2).join('.');
    const before = this.#lanes.get(entity);
    const after = this.#inTurn(message, before);
    this.#lanes.set(entity, after);
    this.#inHand.set(
      message,
      after.then(() => {
        this.#inHand.delete(message);
        if (this.#lanes.get(entity) === after) this.#lanes.delete(entity);
      }),
    );
  }

  async #inTurn(message: JsMsg, before: Promise<number | undefined> | undefined): Promise<number | undefined> {
    const held = await before;
    if (held !== undefined) {
      answer(() => message.nak(held));
      return held;
    }
    const verdict = await this.options.deliver(message);
    // Sent without a connection, the answer would be dropped and the message come again only after its time is up.
    await this.options.bus.connected(this.#stopping.signal);
    if (verdict.kind === 'retry' || verdict.kind === 'pause') {
      const ms = Math.max(1, Math.ceil(verdict.kind === 'retry' ? verdict.ms : this.#pause()));
      answer(() => message.nak(ms));
      return ms;
    }
    this.#backoff.reset();
    // No reason with `term`: servers before 2.10.4 ignore the whole answer then.
    answer(() => (verdict.kind === 'dead' ? message.term() : message.ack()));
    return undefined;
  }

  /** Stops the pulling for a while. Faults of one and the same outage count once. */
  #pause(): number {
    const now = performance.now();
    if (now >= this.#pausedUntil) this.#pausedUntil = now + this.#backoff.next();
    return this.#pausedUntil - now;
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
