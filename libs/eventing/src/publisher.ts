import { setTimeout as delay } from 'node:timers/promises';
import { catalogue, type HoldpointEvent, STREAM, subjectOf } from '@holdpoint/contracts';
import { Unavailable } from '@holdpoint/runtime';
import { JetStreamApiCodes, JetStreamApiError, type PubAck } from '@nats-io/jetstream';
import { errors } from '@nats-io/nats-core';
import { Bus } from './bus.js';
import { publishSpan } from './event-spans.js';
import { type RawMessage, type Stored, toStored } from './stored.js';
import type { StreamGuard } from './stream-guard.js';
import { StreamReader } from './stream-reader.js';

const PUBLISH_TIMEOUT_MS = 5_000;
const READ_BACK_MS = 2_000;
const MESSAGE_TOO_LARGE = 10054;

/** No repetition will get this event stored. */
export class Unpublishable extends Error {
  override readonly name: string = 'Unpublishable';
}

/** Another fact stands where this one was to be stored. Adopt `stored`, or raise the alarm: a row must not disagree. */
export class AlreadyDecided extends Unpublishable {
  override readonly name = 'AlreadyDecided';
  constructor(readonly stored: Stored) {
    super(`another ${stored.event.type} is stored at sequence ${stored.seq}`);
  }
}

/** An event on its way: serialised once, everybody hashes these bytes. */
export interface Outgoing {
  id: string;
  subject: string;
  once: boolean;
  bytes: Uint8Array;
  /** As the event carries it, null for none; absent where only the body is at hand. */
  traceparent?: string | null;
}

const utf8 = new TextEncoder();

/** @throws Unpublishable when the type belongs to another service; the bus would leave it unanswered for ever. */
export function outgoing(event: HoldpointEvent, service: string): Outgoing {
  const { once, publisher } = catalogue[event.type];
  if (publisher !== service) throw new Unpublishable(`${event.type} is ${publisher}'s to publish, not ${service}'s`);
  const bytes = utf8.encode(JSON.stringify(event));
  return { id: event.id, subject: subjectOf(event), once, bytes, traceparent: event.traceparent ?? null };
}

/**
 * Stores events. An answer is proof that the event is in the stream; a repetition of the same event is answered with
 * the sequence of the first, however long ago for a fact that can happen once, within the stream's duplicate window
 * (2 min) for any other.
 */
export class EventPublisher {
  constructor(
    private readonly bus: Bus,
    private readonly reader: StreamReader,
    /** Asked before anything is published. */
    private readonly guard?: StreamGuard,
  ) {}

  /**
   * @throws AlreadyDecided when another fact of the kind is stored (charter, section 3)
   * @throws Unavailable when the outcome is unknown or the stream takes nothing now: publish the same event again
   * @throws Unpublishable when it can never be stored
   */
  async publish(event: HoldpointEvent): Promise<{ seq: number }> {
    return this.store(outgoing(event, this.bus.name));
  }

  store(out: Outgoing): Promise<{ seq: number }> {
    return publishSpan(out, () => this.#store(out));
  }

  /** Whether this very event is the latest on its subject, and where. */
  async findLast(out: Outgoing): Promise<{ seq: number } | null> {
    const stored = await this.reader.lastRaw(out.subject);
    return stored && same(stored, out) ? { seq: stored.seq } : null;
  }

  async #store(out: Outgoing): Promise<{ seq: number }> {
    let ack: PubAck;
    try {
      ack = await this.bus.request(async () => {
        // After the wait for a connection: it may be one to a server that has lost the stream.
        await this.guard?.admit();
        return this.bus.js.publish(out.subject, out.bytes, {
          ...(out.once ? { expect: { lastSubjectSequence: 0 } } : { msgID: out.id }),
          timeout: PUBLISH_TIMEOUT_MS,
        });
      });
    } catch (err) {
      const takenAt = out.once ? conflict(err) : undefined;
      if (takenAt === undefined) throw publishFault(err);
      return this.#compare(out, await this.#readBack(out.subject, takenAt));
    }
    if (ack.stream !== STREAM) throw new Unpublishable(`${out.subject} was answered by another stream`);
    return ack.duplicate ? this.#confirmDuplicate(out, ack.seq) : { seq: ack.seq };
  }

  #compare(out: Outgoing, stored: RawMessage): { seq: number } {
    if (same(stored, out)) return { seq: stored.seq };
    throw new AlreadyDecided(toStored(stored));
  }

  /** A replica may be behind what the leader has just told, so that only an answer from `takenAt` on counts. */
  async #readBack(subject: string, takenAt: number): Promise<RawMessage> {
    const end = performance.now() + READ_BACK_MS;
    do {
      const stored = await this.reader.lastRaw(subject);
      if (stored && stored.seq >= takenAt) return stored;
      await delay(50);
    } while (performance.now() < end);
    throw new Unavailable(`sequence ${takenAt} is taken, but cannot be read yet`);
  }

  /** The broker calls an id a duplicate whatever the subject, and then stores nothing. */
  async #confirmDuplicate(out: Outgoing, seq: number): Promise<{ seq: number }> {
    const last = await this.#readBack(out.subject, seq).catch((err) => {
      if (err instanceof Unavailable && err.cause === undefined)
        throw new Unpublishable(`event id ${out.id} was used on another subject, at sequence ${seq}`);
      throw err;
    });
    // A later event on the subject hides the first; then the id alone has to do.
    if (last.seq === seq && !same(last, out))
      throw new Unpublishable(`event id ${out.id} stands for another event, at sequence ${seq}`);
    return { seq };
  }
}

const same = (stored: RawMessage, out: Outgoing): boolean => Buffer.compare(stored.bytes, out.bytes) === 0;

/** The sequence at which the subject is taken (0 when the server does not say), or undefined for any other error. */
function conflict(err: unknown): number | undefined {
  if (!(err instanceof JetStreamApiError)) return undefined;
  if (err.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown) return 0;
  if (err.code !== JetStreamApiCodes.StreamWrongLastSequence) return undefined;
  return Number(/(\d+)$/.exec(err.message)?.[1] ?? 0);
}

function publishFault(cause: unknown): Error {
  if (cause instanceof Unavailable) return cause;
  const never =
    cause instanceof errors.InvalidArgumentError ||
    cause instanceof errors.InvalidSubjectError ||
    (cause instanceof JetStreamApiError && cause.code === MESSAGE_TOO_LARGE);
  return never
    ? new Unpublishable('the bus cannot take this event', { cause })
    : new Unavailable('the event was not acknowledged by the stream', { cause });
}
