import { checkSubject, type HoldpointEvent, parseEvent } from '@holdpoint/contracts';

/** What the log is searched by; read from the body, and trusted only where the subject bears it out. */
export interface Index {
  eventId: string;
  type: HoldpointEvent['type'];
  spaceId: string;
  runId: string | null;
  callId: string | null;
  taskId: string | null;
  conversationId: string | null;
}

/** A message that cannot be read is logged all the same: `fault` says why nothing was derived from it. */
export type Reading = { event: HoldpointEvent; index: Index; fault: null } | { event: null; index: null; fault: Fault };
export type Fault = 'broker-headers' | 'not-utf8' | 'not-json' | 'not-an-event';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads one message of the stream. Never throws: whatever a publisher stored, the log goes on. */
export function read(message: { subject: string; bytes: Uint8Array; brokerHeaders: boolean }): Reading {
  if (message.brokerHeaders) return unread('broker-headers');
  let text: string;
  try {
    text = utf8.decode(message.bytes);
  } catch {
    return unread('not-utf8');
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return unread('not-json');
  }
  try {
    const event = parseEvent(json);
    checkSubject(event, message.subject);
    return { event, index: indexOf(event), fault: null };
  } catch {
    return unread('not-an-event');
  }
}

const unread = (fault: Fault): Reading => ({ event: null, index: null, fault });

function indexOf(event: HoldpointEvent): Index {
  const work = 'work' in event.data ? event.data.work : undefined;
  const run = 'call' in event.data ? event.data.call : undefined;
  const provenance = run ?? ('agent' in event.data ? event.data : undefined);
  const isTask = event.type.startsWith('task.');
  return {
    eventId: event.id,
    type: event.type,
    spaceId: event.spaceid,
    runId: event.runid ?? null,
    callId: event.callid ?? work?.wakeUp?.callId ?? null,
    taskId: isTask ? event.subject : (provenance?.taskId ?? null),
    conversationId:
      provenance?.conversationId ??
      work?.conversationId ??
      (event.type === 'run.key-destroyed' ? event.data.conversationId : null),
  };
}

/** Text as PostgreSQL can hold it: NUL, which it cannot, becomes the replacement character. The exact bytes are in the log. */
export const storable = (text: string): string => text.replaceAll('\u0000', '\ufffd');
