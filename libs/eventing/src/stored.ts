import { checkSubject, type EventType, type HoldpointEvent, InvalidEvent, parseEvent } from '@holdpoint/contracts';
import type { MsgHdrs } from '@nats-io/nats-core';

/** A message as the stream holds it. `time` is the stream's clock at storing. */
export interface RawMessage {
  seq: number;
  subject: string;
  time: Date;
  /** The stored body, byte for byte. */
  bytes: Uint8Array;
  /** As they were stored. */
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

/** The broker itself writes these; stored with a message they are the mark of a forged one (charter, section 2). */
const BROKER_HEADERS = new Set(['nats-stream', 'nats-subject']);

/** @throws InvalidEvent */
export function refuseBrokerHeaders(headers: MsgHdrs | undefined): void {
  if (headers?.keys().some((key) => BROKER_HEADERS.has(key.toLowerCase())))
    throw new InvalidEvent("the message carries the broker's own headers");
}

/** @throws InvalidEvent */
export function toStored<T extends EventType = EventType>(raw: RawMessage): Stored<T> {
  refuseBrokerHeaders(raw.headers);
  const { seq, subject, time, bytes } = raw;
  return { seq, subject, time, bytes, event: readEvent(bytes, subject) as HoldpointEvent<T> };
}
