import { STREAM } from '@holdpoint/contracts';
import { AckPolicy, type JsMsg } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { Bus } from './bus.js';
import { explain } from './dead-letters.js';
import { Backoff, Bell, pauseFor } from './pause.js';
import { pull } from './pull.js';
import type { RawMessage } from './stored.js';
import { StreamReader } from './stream-reader.js';

export interface BatchConsumerOptions {
  bus: Bus;
  /** Durable name, as contracts' `consumerName(service, '>')` gives it. Its acknowledgement policy is `all`. */
  consumer: string;
  /** Most messages in one batch. Default 500. */
  max?: number;
}

export interface BatchConsumer {
  /** Resolves when `onBatch` is no longer running and will not be called again. */
  stop(): Promise<void>;
  /** @throws when nothing is being consumed, or the last call of `onBatch` failed. */
  check(): void;
}

/**
 * Hands out every message of the stream in stream order, without gaps, in batches of what has come in meanwhile. The
 * first batch begins after the last acknowledged message; the caller has to know what it has stored already. A batch is
 * acknowledged after `onBatch` has resolved; when it rejects, the same batch is handed to it again after a while, for ever.
 * Only one may run at a time in the whole system: hold a lock around it.
 */
export function consumeBatches(
  options: BatchConsumerOptions,
  onBatch: (batch: RawMessage[]) => Promise<void>,
): BatchConsumer {
  return new BatchLoop(options, onBatch);
}

/** `message` is missing when the delivery was lost and the event was fetched from the stream instead. */
interface InHand extends RawMessage {
  message?: JsMsg;
}

class BatchLoop implements BatchConsumer {
  readonly #log = new Logger('Eventing');
  readonly #reader: StreamReader;
  readonly #max: number;
  readonly #stopping = new AbortController();
  readonly #running: Promise<unknown>;
  /** Rings when messages came in. */
  readonly #filled = new Bell();
  /** Rings when messages were taken out. */
  readonly #room = new Bell();
  #queue: InHand[] = [];
  /** Everything below was put in the queue, in order. */
  #next = 0;
  /** `onBatch` has resolved for everything up to here. */
  #done = 0;
  #pullTrouble: string | undefined = 'not consumed yet';
  #batchTrouble: string | undefined;

  constructor(
    private readonly options: BatchConsumerOptions,
    private readonly onBatch: (batch: RawMessage[]) => Promise<void>,
  ) {
    this.#reader = new StreamReader(options.bus);
    this.#max = options.max ?? 500;
    this.#running = Promise.all([this.#pull(), this.#work()]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#filled.ring();
    this.#room.ring();
    await this.#running;
  }

  check(): void {
    const trouble = this.#pullTrouble ?? this.#batchTrouble;
    if (trouble) throw new Error(`${this.options.consumer}: ${trouble}`);
  }

  async #pull(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#consume(signal);
      } catch (err) {
        this.#pullTrouble = explain(err);
        this.#log.warn(`${this.options.consumer} is not being consumed: ${this.#pullTrouble}`);
      }
      if (!signal.aborted) await pauseFor(1_000, signal);
    }
  }

  async #consume(signal: AbortSignal): Promise<void> {
    const consumer = await this.options.bus.js.consumers.get(STREAM, this.options.consumer);
    const { config, ack_floor, delivered } = await consumer.info(true);
    if (config.ack_policy !== AckPolicy.All)
      throw new Error(`${this.options.consumer} must acknowledge all up to a message; provision it anew`);
    this.#done = Math.max(this.#done, ack_floor.stream_seq);
    this.#next = Math.max(this.#next, this.#done + 1);
    this.#pullTrouble = undefined;
    // A predecessor's unfinished work would be delivered again only after its time is up.
    await this.#fetchUpTo(delivered.stream_seq + 1, signal);
    while (!signal.aborted) {
      while (this.#queue.length >= this.#max && !signal.aborted) await this.#room.heard(Number.POSITIVE_INFINITY);
      for await (const message of pull(consumer, this.#max, signal)) await this.#take(message, signal);
    }
  }

  /** Puts a message in its place. One that was had before needs no place, only its acknowledgement, now or with its batch. */
  async #take(message: JsMsg, signal: AbortSignal): Promise<void> {
    const { seq, subject, time, data, headers } = message;
    if (seq <= this.#done) message.ack();
    if (seq < this.#next) return;
    await this.#fetchUpTo(seq, signal);
    if (!signal.aborted) this.#put({ seq, subject, time, bytes: data, headers, message });
  }

  /**
   * Fetches from the stream what lies between the last message and this one: deliveries that were lost on the way or
   * went to a predecessor. Acknowledging `seq` would acknowledge them unseen.
   */
  async #fetchUpTo(seq: number, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff();
    while (this.#next < seq && !signal.aborted) {
      const found = await this.#reader.nextRaw(this.#next).catch((err) => {
        this.#log.warn(`event ${this.#next} was not delivered and cannot be fetched: ${explain(err)}`);
        return null;
      });
      if (!found) {
        await pauseFor(backoff.next(), signal);
        continue;
      }
      if (found.seq > this.#next)
        this.#log.error(`the stream no longer holds events ${this.#next} to ${Math.min(found.seq, seq) - 1}`);
      if (found.seq < seq) this.#put(found);
      else this.#next = seq;
    }
  }

  #put(message: InHand): void {
    this.#queue.push(message);
    this.#next = message.seq + 1;
    this.#filled.ring();
  }

  async #work(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (this.#queue.length === 0) {
        await this.#filled.heard(Number.POSITIVE_INFINITY);
        continue;
      }
      const batch = this.#queue.splice(0, this.#max);
      this.#room.ring();
      if (!(await this.#through(batch, signal))) return;
      this.#done = batch.at(-1)?.seq ?? this.#done;
      batch.findLast(({ message }) => message)?.message?.ack();
    }
  }

  /** False when stopped before `onBatch` resolved. */
  async #through(batch: InHand[], signal: AbortSignal): Promise<boolean> {
    const backoff = new Backoff();
    const messages = batch.map(({ message, ...raw }) => raw);
    while (!signal.aborted) {
      try {
        await this.onBatch(messages);
        this.#batchTrouble = undefined;
        return true;
      } catch (err) {
        this.#batchTrouble = explain(err);
        this.#log.warn(`${this.options.consumer}, events from ${batch[0]?.seq}, failed: ${this.#batchTrouble}`);
        await pauseFor(backoff.next(), signal);
      }
    }
    return false;
  }
}
