import type { HoldpointEvent } from '@holdpoint/contracts';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { CallFacts } from '../domain/entry.js';
import { type Reading, storable } from '../domain/message.js';
import { type ColumnType, type CopyIn, copyRows } from './binary-rows.js';
import type { Database } from './schema.js';

/** A message of the stream together with what could be read of it. */
export interface LogMessage {
  seq: number;
  subject: string;
  time: Date;
  bytes: Uint8Array;
  reading: Reading;
  duplicate: boolean;
}

export interface LoggedMessage {
  seq: number;
  subject: string;
  bytes: Buffer;
  /** By the stream's clock. */
  storedAt: Date;
  spaceId: string | null;
  runId: string | null;
}

export interface TailFilter {
  types?: readonly string[] | undefined;
  callId?: string | undefined;
  runId?: string | undefined;
}

/** No single look reads more: a filter that hardly anything matches costs many short looks, never one long one. */
const SEQUENCES_A_LOOK = 10_000;
const MESSAGES_A_LOOK = 50;

type Db = Kysely<Database> | Transaction<Database>;

const TYPES = {
  stream_seq: 'int8',
  subject: 'text',
  body: 'bytea',
  stored_at: 'timestamptz',
  event_id: 'text',
  type: 'text',
  space_id: 'text',
  run_id: 'text',
  call_id: 'text',
  task_id: 'text',
  conversation_id: 'text',
  fault: 'text',
  duplicate: 'bool',
} satisfies Partial<Record<keyof Database['event_log'], ColumnType>>;

/** Within the transaction that is open on the session. */
export async function copyMessages(copyIn: CopyIn, messages: LogMessage[]): Promise<void> {
  const rows = messages.map(({ seq, subject, time, bytes, reading: { index, fault }, duplicate }) => [
    seq,
    storable(subject),
    bytes,
    time,
    index?.eventId ?? null,
    index?.type ?? null,
    index?.spaceId ?? null,
    index?.runId ?? null,
    index?.callId ?? null,
    index?.taskId ?? null,
    index?.conversationId ?? null,
    fault,
    duplicate,
  ]);
  await copyRows(copyIn, 'audit.event_log', TYPES, rows);
}

/** Messages of the log that carry one of these event ids. */
export async function messagesOfEvents(db: Db, eventIds: string[]) {
  return db
    .selectFrom('event_log')
    .select(['event_id', 'subject', 'body'])
    .where('event_id', '=', sql<string>`any(${eventIds}::text[])`)
    .execute();
}

/** What the log knows of calls, keyed by `space/call`: the first proposal, verdict and start of each. */
export async function factsOfCalls(db: Db, callIds: string[]): Promise<Map<string, CallFacts>> {
  const types = ['tool.proposed', 'policy.decided', 'tool.started'] satisfies HoldpointEvent['type'][];
  const rows = await db
    .selectFrom('event_log')
    .select(['stream_seq', 'type', 'space_id', 'call_id', 'run_id'])
    .where('call_id', '=', sql<string>`any(${callIds}::text[])`)
    .where('type', 'in', types)
    .orderBy('stream_seq')
    .execute();
  const facts = new Map<string, CallFacts>();
  for (const row of rows) {
    const key = `${row.space_id}/${row.call_id}`;
    const known = facts.get(key) ?? { proposal: null, verdictSeq: null, startedSeq: null };
    facts.set(key, known);
    if (row.type === 'tool.proposed') known.proposal ??= { seq: row.stream_seq, runId: row.run_id };
    else if (row.type === 'policy.decided') known.verdictSeq ??= row.stream_seq;
    else known.startedSeq ??= row.stream_seq;
  }
  return facts;
}

export class EventLog {
  constructor(private readonly db: Db) {}

  /** Those of `seqs` that the log holds. */
  async at(seqs: number[]): Promise<Map<number, LoggedMessage>> {
    const rows = await this.db
      .selectFrom('event_log')
      .select(COLUMNS)
      .where('stream_seq', '=', sql<number>`any(${seqs}::bigint[])`)
      .execute();
    return new Map(rows.map((row) => [row.stream_seq, toLogged(row)]));
  }

  /** Whatever stands behind `seq`, in stream order: also duplicates, and what could not be read. */
  async next(seq: number, limit: number): Promise<LoggedMessage[]> {
    const rows = await this.db
      .selectFrom('event_log')
      .select(COLUMNS)
      .where('stream_seq', '>', seq)
      .orderBy('stream_seq')
      .limit(limit)
      .execute();
    return rows.map(toLogged);
  }

  /**
   * The next events behind `seq` that the filter lets through, in stream order, and the sequence up to which that is all
   * there are. Duplicates, and what could not be read, are left out.
   */
  async behind(seq: number, lastSeq: number, { types, callId, runId }: TailFilter, spaces: string[]) {
    const end = Math.min(seq + SEQUENCES_A_LOOK, lastSeq);
    if (end <= seq) return { messages: [], upTo: seq };
    const rows = await this.db
      .selectFrom('event_log')
      .select(COLUMNS)
      .where('stream_seq', '>', seq)
      .where('stream_seq', '<=', end)
      .where('space_id', '=', sql<string>`any(${spaces}::text[])`)
      .where('duplicate', '=', false)
      .$if(types !== undefined, (q) => q.where('type', '=', sql<string>`any(${types}::text[])`))
      .$if(callId !== undefined, (q) => q.where('call_id', '=', callId as string))
      .$if(runId !== undefined, (q) => q.where('run_id', '=', runId as string))
      .orderBy('stream_seq')
      .limit(MESSAGES_A_LOOK)
      .execute();
    const full = rows.length === MESSAGES_A_LOOK;
    return { messages: rows.map(toLogged), upTo: full ? (rows.at(-1)?.stream_seq ?? end) : end };
  }

  /** A run's own events and every event of its calls: verdict, staging, votes, decision, execution, and the tasks they made. */
  async chainOfRun(runId: string): Promise<LoggedMessage[]> {
    const calls = await this.db
      .selectFrom('event_log')
      .select('call_id')
      .distinct()
      .where('run_id', '=', runId)
      .where('type', 'in', ['tool.proposed', 'tool.executed'] satisfies HoldpointEvent['type'][])
      .execute();
    // The ids as values: an OR over a subquery would read the whole log.
    const callIds = calls.flatMap((c) => c.call_id ?? []);
    const rows = await this.db
      .selectFrom('event_log')
      .select(COLUMNS)
      .where((e) => e.or([e('run_id', '=', runId), e('call_id', '=', sql<string>`any(${callIds}::text[])`)]))
      .orderBy('stream_seq')
      .execute();
    return rows.map(toLogged);
  }

  async chainOfCall(callId: string): Promise<LoggedMessage[]> {
    const rows = await this.db
      .selectFrom('event_log')
      .select(COLUMNS)
      .where('call_id', '=', callId)
      .orderBy('stream_seq')
      .execute();
    return rows.map(toLogged);
  }
}

const COLUMNS = ['stream_seq', 'subject', 'body', 'stored_at', 'space_id', 'run_id'] as const;

const toLogged = (row: Pick<Database['event_log'], (typeof COLUMNS)[number]>): LoggedMessage => ({
  seq: row.stream_seq,
  subject: row.subject,
  bytes: row.body,
  storedAt: row.stored_at,
  spaceId: row.space_id,
  runId: row.run_id,
});
