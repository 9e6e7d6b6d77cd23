import type { Receipt } from '@holdpoint/contracts';
import type { DatabaseSession } from '@holdpoint/runtime';
import type { Transaction } from 'kysely';
import { entryFor, mayMakeEntry, NOTHING_KNOWN } from '../domain/entry.js';
import type { Edge } from '../domain/merkle/edge.js';
import { leafHash } from '../domain/merkle/hashes.js';
import { type Reading, read, storable } from '../domain/message.js';
import { receiptFor } from '../domain/receipt.js';
import type { StoredEntry } from '../domain/rows.js';
import { copyEntries } from '../store/audit-log.js';
import type { CopyIn } from '../store/binary-rows.js';
import { copyMessages, factsOfCalls, type LogMessage, messagesOfEvents } from '../store/event-log.js';
import { advance, OutOfStep } from '../store/position.js';
import { insertReceipts } from '../store/run-receipts.js';
import type { Database } from '../store/schema.js';
import { insertTiles } from '../store/tree-tiles.js';
import { sha256 } from './sha256.js';

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
 * Appends messages that follow the log's position without a hole. Log, tree, entries, receipts and position commit together,
 * a slice at a time.
 * @param session the connection that holds the writer's lock: when it breaks, so does the transaction
 * @param onEdge told the tree's edge after each slice; what was told is committed
 * @throws OutOfStep when they do not follow
 */
export async function appendToLog(
  session: DatabaseSession<Database>,
  edge: Edge,
  messages: readonly StreamMessage[],
  onEdge: (edge: Edge) => void,
): Promise<void> {
  let at = edge;
  for (const slice of slices(messages)) {
    at = await session.db.transaction().execute((tx) => appendSlice(tx, session.copyIn, at, slice));
    onEdge(at);
  }
}

async function appendSlice(tx: Transaction<Database>, copyIn: CopyIn, edge: Edge, slice: StreamMessage[]) {
  const [first, last] = [slice[0], slice.at(-1)];
  if (first === undefined || last === undefined) return edge;
  const { firstSeq } = await advance(tx, first.seq, last.seq);
  if (firstSeq + edge.size !== first.seq) throw new OutOfStep(`the tree does not stand right before ${first.seq}`);
  const messages = await markDuplicates(
    tx,
    slice.map((m) => ({ ...m, reading: read(m) })),
  );
  await copyMessages(copyIn, messages);
  const next = edge.append(
    sha256,
    slice.map((m) => leafHash(sha256, storable(m.subject), m.bytes)),
  );
  await insertTiles(tx, next.tiles);
  await derive(
    tx,
    copyIn,
    messages.filter((m) => !m.duplicate),
  );
  return next.edge;
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
  const seen = Map.groupBy(
    (await messagesOfEvents(tx, ids)).map((m) => ({ id: m.event_id, subject: m.subject, bytes: m.body as Uint8Array })),
    (m) => m.id,
  );
  return slice.map((m) => {
    if (m.reading.index === null) return { ...m, duplicate: false };
    const { eventId } = m.reading.index;
    const same = seen.get(eventId) ?? [];
    const duplicate = same.some((s) => s.subject === m.subject && Buffer.compare(s.bytes, m.bytes) === 0);
    seen.set(eventId, [...same, { id: eventId, subject: m.subject, bytes: m.bytes }]);
    return { ...m, duplicate };
  });
}

async function derive(tx: Transaction<Database>, copyIn: CopyIn, messages: LogMessage[]): Promise<void> {
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
  await copyEntries(copyIn, entries);
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
