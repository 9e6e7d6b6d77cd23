import { checkSubject, type EventType, type HoldpointEvent, InvalidEvent, parseEvent } from '@holdpoint/contracts';
import type { MsgHdrs } from '@nats-io/nats-core';

/** A message as the stream holds it. `time` is the stream's clock at storing. */
export interface RawMessage {
  seq: number;
  subject: string;
  time: Date;
  /** The stored body, byte for byte. */
  bytes: Uint8Array;
  headers: MsgHdrs | undefined;
}

/** An event as the stream holds it. */
export interface Stored<T extends EventType = EventType> {
  seq: number;
  subject: string;
  time: Date;
  /** The stored body, byte for byte. */
  bytes: Uint8Array;
  event: HoldpointEvent<T>;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a body and holds it against its declaration and against the subject that the bus let its publisher use.
 * @throws InvalidEvent; its text never quotes the body
 */
export function readEvent(bytes: Uint8Array, subject: string): HoldpointEvent {
  let json: unknown;
  try {
    json = JSON.parse(utf8.decode(bytes));
  } catch {
    throw new InvalidEvent('the body is not JSON in UTF-8');
  }
  const event = parseEvent(json);
  checkSubject(event, subject);
  return event;
}

/** The broker itself writes these; on a stored message they are the mark of a forged one (charter, section 2). */
const BROKER_HEADERS = new Set(['nats-stream', 'nats-subject']);

/** @throws InvalidEvent when one of the broker's headers occurs more than `allowed` times. */
export function refuseBrokerHeaders(headers: MsgHdrs | undefined, allowed = 0): void {
  const count = new Map<string, number>();
  for (const key of headers?.keys() ?? []) {
    const name = key.toLowerCase();
    if (!BROKER_HEADERS.has(name)) continue;
    const seen = (count.get(name) ?? 0) + (headers?.values(key).length ?? 0);
    if (seen > allowed) throw new InvalidEvent("carries the broker's own headers");
    count.set(name, seen);
  }
}

export function toStored(raw: RawMessage): Stored {
  const { seq, subject, time, bytes } = raw;
  return { seq, subject, time, bytes, event: readEvent(bytes, subject) };
}
