import { eventTypes, type HoldpointEvent, InvalidEvent, parseEvent } from '../events/catalogue.js';
import { checkSubject } from '../subjects.js';
import type { StreamMessage } from './report.js';

export type ReadMessage =
  | { event: HoldpointEvent; fingerprint: number }
  | { code: 'stream.malformed' | 'stream.unknown-type' | 'stream.subject'; message: string };

const { imul } = Math;
const encoder = new TextEncoder();
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** One stored message as the event that it claims to be, or why it is none. */
export function readMessage(m: StreamMessage): ReadMessage {
  let json: unknown;
  try {
    json = 'json' in m ? m.json : JSON.parse(utf8.decode(m.bytes));
  } catch {
    return { code: 'stream.malformed', message: 'the body is not JSON in UTF-8' };
  }
  let event: HoldpointEvent;
  try {
    event = parseEvent(json);
  } catch (error) {
    const type = (json as { type?: unknown } | null)?.type;
    const known = (eventTypes as unknown[]).includes(type);
    return { code: known ? 'stream.malformed' : 'stream.unknown-type', message: said(error) };
  }
  try {
    checkSubject(event, m.subject);
  } catch (error) {
    return { code: 'stream.subject', message: said(error) };
  }
  const bytes = 'bytes' in m ? m.bytes : encoder.encode(JSON.stringify(json));
  return { event, fingerprint: fingerprintOf(bytes) };
}

function said(error: unknown): string {
  if (error instanceof InvalidEvent) return error.message;
  throw error;
}

/**
 * 53 bits that tell a repeated message from one that only has the same id (cyrb53). Fit against accidents, not against an
 * adversary: whether bytes were tampered with is for the log's proofs to say.
 */
function fingerprintOf(bytes: Uint8Array): number {
  let a = 0xdeadbeef ^ bytes.length;
  let b = 0x41c6ce57 ^ bytes.length;
  for (const byte of bytes) {
    a = imul(a ^ byte, 2654435761);
    b = imul(b ^ byte, 1597334677);
  }
  a = imul(a ^ (a >>> 16), 2246822507) ^ imul(b ^ (b >>> 13), 3266489909);
  b = imul(b ^ (b >>> 16), 2246822507) ^ imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
