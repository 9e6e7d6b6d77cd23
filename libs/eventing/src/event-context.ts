import type { HoldpointEvent } from '@holdpoint/contracts';
import type { Kysely, Transaction } from 'kysely';

// biome-ignore lint/suspicious/noExplicitAny: any service's schema
type AnyTransaction = Transaction<any>;
// biome-ignore lint/suspicious/noExplicitAny: any service's schema
export type AnyDatabase = Kysely<any>;

/** What a handler knows of a delivery besides the event itself. */
export interface EventContext {
  /** Place of the event in the one total order. */
  readonly seq: number;
  readonly subject: string;
  /** The stored body, byte for byte. */
  readonly bytes: Uint8Array;
  /** The stream's clock when it stored the event; `event.time` is the publisher's word. */
  readonly streamTime: Date;
  /** How often it was handed out, this time included. Never a reason to skip work: that is what `once` is for. */
  readonly deliveries: number;
  /**
   * Runs `fn` and remembers the event in one transaction, so that the effect happens once however often the event is
   * delivered. False when it has happened before. Once a handler: a second call finds the event remembered by the first.
   * The outbox is poked after the commit.
   */
  once(fn: (tx: AnyTransaction) => Promise<void>): Promise<boolean>;
}

/** Throw to have the event delivered again after `ms`; not counted as a fault of the handler. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  constructor(readonly ms: number) {
    super(`to be delivered again in ${ms} ms`);
  }
}

/** Throw to make the event a dead letter at once. The reason is stored and logged: no content in it. */
export class Discard extends Error {
  override readonly name = 'Discard';
}

export type EventHandler = (event: HoldpointEvent, ctx: EventContext) => Promise<unknown>;

/** One message handed out by a consumer, or taken from the dead letters. */
export interface Delivery {
  consumer: string;
  seq: number;
  subject: string;
  bytes: Uint8Array;
  streamTime: Date;
  deliveries: number;
}

export function eventContext(
  delivery: Delivery,
  eventId: string,
  db: AnyDatabase,
  committed: () => void,
): EventContext {
  const { consumer, seq, subject, bytes, streamTime, deliveries } = delivery;
  return {
    seq,
    subject,
    bytes,
    streamTime,
    deliveries,
    once: async (fn) => {
      const first = await db.transaction().execute(async (tx) => {
        const remembered = await tx
          .insertInto('inbox')
          .values({ consumer, event_id: eventId, stream_seq: seq })
          .onConflict((seen) => seen.columns(['consumer', 'event_id']).doNothing())
          .returning('event_id')
          .executeTakeFirst();
        if (remembered) await fn(tx);
        return remembered !== undefined;
      });
      if (first) committed();
      return first;
    },
  };
}
