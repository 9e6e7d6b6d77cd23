import type { Receipt } from '@holdpoint/contracts';
import type { Kysely, Transaction } from 'kysely';
import { entryFor, mayMakeEntry, NOTHING_KNOWN } from '../domain/entry.js';
import { type Reading, read } from '../domain/message.js';
import { receiptFor } from '../domain/receipt.js';
import type { StoredEntry } from '../domain/rows.js';
import { insertEntries } from '../store/audit-log.js';
import { factsOfCalls, insertMessages, type LogMessage, messagesOfEvents } from '../store/event-log.js';
import { advance } from '../store/position.js';
import { insertReceipts } from '../store/run-receipts.js';
import type { Database } from '../store/schema.js';

/** A message as the stream holds it. */
export interface StreamMessage {
  seq: number;
  subject: string;
  time: Date;
  bytes: Uint8Array;
  /** It bears the broker's own headers: somebody made the broker store it. */
  brokerHeaders: boolean;
}

/** One statement's worth; a message is at most 1 MiB. */
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_MESSAGES = 500;

/**
 * Appends messages that follow the log's position without a hole. Log, entries, receipts and position commit together, a
 * slice at a time.
 * @param session the connection that holds the writer's lock: when it breaks, so does the transaction
 * @throws OutOfStep when they do not follow
 */
export async function appendToLog(session: Kysely<Database>, messages: readonly StreamMessage[]): Promise<void> {
  for (const slice of slices(messages)) await session.transaction().execute((tx) => appendSlice(tx, slice));
}

async function appendSlice(tx: Transaction<Database>, slice: StreamMessage[]): Promise<void> {
  const [first, last] = [slice[0], slice.at(-1)];
  if (first === undefined || last === undefined) return;
  await advance(tx, first.seq, last.seq);
  const messages = await markDuplicates(
    tx,
    slice.map((m) => ({ ...m, reading: read(m) })),
  );
  await insertMessages(tx, messages);
  await derive(
    tx,
    messages.filter((m) => !m.duplicate),
  );
}

/**
 * A duplicate has id, subject and body of an earlier message. One that only borrows an id is an event of its own, or a
 * publisher could hide what it did behind an id that it used before.
 */
async function markDuplicates(
  tx: Transaction<Database>,
  slice: (StreamMessage & { reading: Reading })[],
): Promise<LogMessage[]> {
  const ids = [...new Set(slice.flatMap((m) => m.reading.index?.eventId ?? []))];
  const earlier = await messagesOfEvents(tx, ids);
  const seen = new Set(earlier.map((m) => identity(m.event_id, m.subject, m.body)));
  return slice.map((m) => {
    if (m.reading.index === null) return { ...m, duplicate: false };
    const id = identity(m.reading.index.eventId, m.subject, m.bytes);
    const duplicate = seen.has(id);
    seen.add(id);
    return { ...m, duplicate };
  });
}

const identity = (eventId: string | null, subject: string, body: Uint8Array): string =>
  `${eventId} ${subject} ${Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')}`;

async function derive(tx: Transaction<Database>, messages: LogMessage[]): Promise<void> {
  const callIds = new Set<string>();
  for (const { reading } of messages)
    if (reading.event && mayMakeEntry(reading.event)) callIds.add(reading.event.subject);
  const facts = callIds.size > 0 ? await factsOfCalls(tx, [...callIds]) : new Map();
  const entries: StoredEntry[] = [];
  const receipts: Receipt[] = [];
  for (const { seq, time, reading } of messages) {
    const { event } = reading;
    if (event === null) continue;
    if (mayMakeEntry(event)) {
      const entry = entryFor(event, seq, facts.get(`${event.spaceid}/${event.subject}`) ?? NOTHING_KNOWN);
      if (entry) entries.push({ ...entry, id: event.id, streamSeq: seq, at: time });
    } else if (event.type === 'run.completed') {
      receipts.push({ ...receiptFor(event, seq), completedAt: time.toISOString(), streamSeq: seq });
    }
  }
  await insertEntries(tx, entries);
  await insertReceipts(tx, receipts);
}

function* slices(messages: readonly StreamMessage[]): Generator<StreamMessage[]> {
  let slice: StreamMessage[] = [];
  let bytes = 0;
  for (const message of messages) {
    if (slice.length >= MOST_MESSAGES || (slice.length > 0 && bytes + message.bytes.length > MOST_BYTES)) {
      yield slice;
      slice = [];
      bytes = 0;
    }
    slice.push(message);
    bytes += message.bytes.length;
  }
  yield slice;
}
