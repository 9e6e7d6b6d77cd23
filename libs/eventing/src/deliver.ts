import type { HoldpointEvent } from '@holdpoint/contracts';
import { isInfrastructureFault } from '@holdpoint/runtime';
import type { JsMsg } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { deadLetters, explain } from './dead-letters.js';
import {
  type AnyDatabase,
  type Delivery,
  Discard,
  type EventHandler,
  eventContext,
  RetryLater,
} from './event-context.js';
import { processSpan } from './event-spans.js';
import { readEvent, refuseBrokerHeaders } from './stored.js';

/** What becomes of a delivery. `pause`: what we depend on is down, hand it out again once it may be up. */
export type Verdict = { kind: 'done' | 'dead' | 'pause' } | { kind: 'retry'; ms: number };

export interface DelivererOptions {
  consumer: string;
  handler: EventHandler;
  db: AnyDatabase;
  /** Called after the commit of `once`. */
  committed: () => void;
  /** Faults of the handler after which an event is a dead letter. */
  attempts: number;
  /** Waiting time after a number of faults. */
  retryMs: (attempt: number) => number;
}

/** Takes one message through its handler. Never throws: an event is neither lost nor counted because we are unwell. */
export class Deliverer {
  readonly #log = new Logger('Eventing');

  constructor(private readonly options: DelivererOptions) {}

  async deliver(message: JsMsg): Promise<Verdict> {
    const { consumer, db } = this.options;
    const { seq, subject, data: bytes, time: streamTime, headers, info } = message;
    const delivery: Delivery = { consumer, seq, subject, bytes, streamTime, deliveries: info.deliveryCount };
    try {
      refuseBrokerHeaders(headers);
    } catch (err) {
      return this.#bury(delivery, err, false);
    }
    let event: HoldpointEvent;
    try {
      event = readEvent(bytes, subject);
    } catch (err) {
      return this.#bury(delivery, err);
    }
    try {
      await this.#handle(event, delivery);
    } catch (err) {
      return this.#failed(delivery, err);
    }
    if (delivery.deliveries > 1)
      await deadLetters.settle(db, delivery, 'recovered').catch((err) => this.#unwell(delivery, err));
    return { kind: 'done' };
  }

  /** Runs the handler once more, on a dead letter. @throws whatever hinders it; the letter stays dead then. */
  async replay(delivery: Delivery): Promise<void> {
    try {
      await this.#handle(readEvent(delivery.bytes, delivery.subject), delivery);
    } catch (err) {
      this.#log.warn(`${where(delivery)} failed again when replayed: ${explain(err)}`);
      if (!isInfrastructureFault(err)) await deadLetters.failAgain(this.options.db, delivery, err);
      throw err;
    }
    await deadLetters.settle(this.options.db, delivery, 'replayed');
    this.#log.log(`${where(delivery)} was replayed`);
  }

  async #handle(event: HoldpointEvent, delivery: Delivery): Promise<void> {
    const { handler, db, committed } = this.options;
    await processSpan(event, delivery, async () => {
      await handler(event, eventContext(delivery, event.id, db, committed));
    });
  }

  async #failed(delivery: Delivery, err: unknown): Promise<Verdict> {
    if (err instanceof RetryLater) return { kind: 'retry', ms: err.ms };
    if (err instanceof Discard) return this.#bury(delivery, err);
    if (isInfrastructureFault(err)) return this.#unwell(delivery, err);
    try {
      const { attempts, dead } = await deadLetters.count(this.options.db, delivery, err, this.options.attempts);
      if (dead) return this.#dead(delivery, err);
      this.#log.warn(`${where(delivery)} failed, attempt ${attempts}: ${explain(err)}`);
      return { kind: 'retry', ms: this.options.retryMs(attempts) };
    } catch (storeFault) {
      return this.#unwell(delivery, storeFault);
    }
  }

  async #bury(delivery: Delivery, err: unknown, replayable = true): Promise<Verdict> {
    try {
      await deadLetters.bury(this.options.db, delivery, err, replayable);
    } catch (storeFault) {
      return this.#unwell(delivery, storeFault);
    }
    return this.#dead(delivery, err);
  }

  #dead(delivery: Delivery, err: unknown): Verdict {
    this.#log.error(`${where(delivery)} is a dead letter: ${explain(err)}`);
    return { kind: 'dead' };
  }

  #unwell(delivery: Delivery, err: unknown): Verdict {
    this.#log.warn(`${where(delivery)} waits, something it needs is down: ${explain(err)}`);
    return { kind: 'pause' };
  }
}

const where = ({ consumer, seq }: Delivery): string => `${consumer}, event ${seq}`;
