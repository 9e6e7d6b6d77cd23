import { consumerName, type ServiceName, STREAM, topology } from '@holdpoint/contracts';
import { Refusal } from '@holdpoint/runtime';
import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import { Bus } from './bus.js';
import { ConsumerLoop } from './consumer-loop.js';
import { deadLetters } from './dead-letters.js';
import { Deliverer } from './deliver.js';
import type { AnyDatabase, EventHandler } from './event-context.js';
import { JETSTREAM } from './on-event.js';

export interface JetStreamServerOptions {
  service: ServiceName;
  bus: Bus;
  /** The service's own database, with the tables of `eventingTables`. */
  db: AnyDatabase;
  /** Called after each commit of `EventContext.once`. */
  committed?: () => void;
  /** Events that each consumer handles at once. Default 16. */
  concurrency?: number;
  /** Faults of the handler after which an event is a dead letter. Default 5. */
  attempts?: number;
  /** Waiting time after so many faults. Default 250 ms, trebled each time, at most 30 s. */
  retryMs?: (attempt: number) => number;
}

/**
 * Nest's transport for handlers marked `@OnEvent`: each is fed by its durable consumer, which the provisioner made.
 * An event is acknowledged after its handler has returned. Delivery is at least once and may be out of order.
 */
export class JetStreamServer extends Server implements CustomTransportStrategy {
  override readonly transportId = JETSTREAM;
  override readonly propagatesEventHandlerErrors = true;
  readonly #loops: ConsumerLoop[] = [];
  readonly #deliverers = new Map<string, Deliverer>();

  constructor(private readonly options: JetStreamServerOptions) {
    super();
  }

  /** @throws when a handler's pattern is none of the service's consumers in contracts' topology. */
  listen(done: (err?: unknown) => void): void {
    try {
      for (const [pattern, handler] of this.messageHandlers) this.#consume(pattern, handler);
    } catch (err) {
      done(err);
      return;
    }
    for (const loop of this.#loops) loop.start();
    done();
  }

  async close(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }

  /** @throws when a consumer is not being consumed just now. */
  check(): void {
    const idle = this.#loops.filter((loop) => !loop.consuming).map((loop) => loop.consumer);
    if (idle.length > 0) throw new Error(`not being consumed: ${idle.join(', ')}`);
  }

  /** What each consumer has before it: `lag` not handed out yet, `pending` handed out and not acknowledged. */
  backlog(): Promise<{ consumer: string; lag: number; pending: number }[]> {
    const { bus } = this.options;
    return Promise.all(
      this.#loops.map(async ({ consumer }) => {
        const info = await bus.request(async () => (await bus.js.consumers.get(STREAM, consumer)).info());
        return { consumer, lag: info.num_pending, pending: info.num_ack_pending };
      }),
    );
  }

  /**
   * Hands a dead letter to its handler once more, by hand.
   * @throws Refusal when there is none to replay; the handler's own error when it fails again, and the letter stays dead
   */
  async replay(id: number): Promise<void> {
    const letter = await deadLetters.find(this.options.db, id);
    const deliverer = letter && this.#deliverers.get(letter.consumer);
    if (!letter || !deliverer)
      throw new Refusal('not-found', 'eventing.no-dead-letter', 'There is no such dead letter. List them first.');
    if (letter.state !== 'dead' || !letter.replayable)
      throw new Refusal(
        'conflict',
        'eventing.not-replayable',
        letter.replayable
          ? `The letter is ${letter.state}; only a dead one can be replayed.`
          : "The message carried the broker's own headers. It is forged: find out who sent it, and do not replay it.",
      );
    await deliverer.replay({ ...letter, deliveries: 1 });
  }

  on(): never {
    throw new Error('this transport emits no events');
  }

  unwrap<T>(): T {
    return this.options.bus.nc as T;
  }

  #consume(pattern: string, handler: MessageHandler): void {
    const { service, bus, db } = this.options;
    if (!handler.isEventHandler || !topology[service].consumes.includes(pattern))
      throw new Error(`${service} has no consumer for ${pattern}: see the topology in @holdpoint/contracts`);
    const consumer = consumerName(service, pattern);
    const deliverer = new Deliverer({
      consumer,
      handler: this.#call(handler),
      db,
      committed: this.options.committed ?? (() => undefined),
      attempts: this.options.attempts ?? 5,
      retryMs: this.options.retryMs ?? ((attempt) => Math.min(250 * 3 ** (attempt - 1), 30_000)),
    });
    this.#deliverers.set(consumer, deliverer);
    this.#loops.push(
      new ConsumerLoop({
        bus,
        consumer,
        concurrency: this.options.concurrency ?? 16,
        deliver: (message) => deliverer.deliver(message),
      }),
    );
  }

  #call(handler: MessageHandler): EventHandler {
    return async (event, ctx) =>
      lastValueFrom(this.transformToObservable(await handler(event, ctx)), { defaultValue: undefined });
  }
}
