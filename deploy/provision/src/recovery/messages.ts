import { checkSubject, type Fact, type HoldpointEvent, parseEvent, STREAM } from '@holdpoint/contracts';
import {
  type ConsumerMessages,
  DeliverPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type pg from 'pg';

/** A message as stream or log hold it. */
export interface Message {
  seq: number;
  subject: string;
  bytes: Uint8Array;
  time: Date;
  /** It bears the broker's own headers: somebody forged it, and nobody believes it. */
  forged: boolean;
  /** By the log's word: id, subject and body stand at a lower sequence too. */
  duplicate: boolean;
}

/** A run of sequences, all of it there. Empty when `last` is below `first`. */
export interface Range {
  first: number;
  last: number;
}

/** Messages from one sequence to another, both included, in order and without a hole, some at a time. */
export type Read = (from: number, to: number) => AsyncGenerator<Message[]>;

const STREAM_NOT_FOUND = 10059;
const CHUNK = 500;
const PREFETCH_BYTES = 8 * 1024 * 1024;
const BROKER_HEADERS = new Set(['nats-stream', 'nats-subject']);

/** The bus as the account that owns the stream. */
export class Hub {
  private constructor(
    readonly nc: NatsConnection,
    readonly jsm: JetStreamManager,
  ) {}

  static async open(servers: string, password: string): Promise<Hub> {
    const nc = await connect({ servers, user: 'hub', pass: password, name: 'recovery', noAsyncTraces: true });
    return new Hub(nc, await jetstreamManager(nc));
  }

  close(): Promise<void> {
    return this.nc.close();
  }

  /** Null when there is no stream. */
  async range(): Promise<Range | null> {
    try {
      const { state } = await this.jsm.streams.info(STREAM);
      return { first: Math.max(1, state.first_seq), last: state.last_seq };
    } catch (err) {
      if (err instanceof JetStreamApiError && err.code === STREAM_NOT_FOUND) return null;
      throw err;
    }
  }

  /** @throws when a sequence is not there */
  read: Read = async function* (this: Hub, from: number, to: number) {
    if (from > to) return;
    const consumer = await jetstream(this.nc).consumers.get(STREAM, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: from,
    });
    const messages: ConsumerMessages = await consumer.consume({ max_bytes: PREFETCH_BYTES });
    let chunk: Message[] = [];
    let next = from;
    try {
      for await (const m of messages) {
        if (m.seq !== next) throw new Error(`the stream does not hold sequence ${next}`);
        const forged = m.headers?.keys().some((k) => BROKER_HEADERS.has(k.toLowerCase())) ?? false;
        chunk.push({ seq: m.seq, subject: m.subject, bytes: m.data, time: m.time, forged, duplicate: false });
        const done = next++ === to;
        if (done || chunk.length >= CHUNK) {
          yield chunk;
          chunk = [];
        }
        if (done) return;
      }
    } finally {
      await messages.close();
    }
  }.bind(this);
}

/** What the audit's log holds; null when there is no such table or nothing in it. */
export async function logRange(client: pg.Client): Promise<Range | null> {
  const { rows } = await client.query(`SELECT to_regclass('audit.event_log') IS NOT NULL AS there`);
  if (!rows[0].there) return null;
  const { rows: ends } = await client.query(
    'SELECT min(stream_seq)::text AS first, max(stream_seq)::text AS last, count(*)::text AS n FROM audit.event_log',
  );
  const { first, last, n } = ends[0];
  if (first === null) return null;
  if (Number(last) - Number(first) + 1 !== Number(n))
    throw new Error(`the log has holes: ${n} messages between ${first} and ${last}`);
  return { first: Number(first), last: Number(last) };
}

export const readLog = (client: pg.Client): Read =>
  async function* (from, to) {
    for (let at = from; at <= to; at += CHUNK) {
      const { rows } = await client.query({
        name: 'read-log',
        text: `SELECT stream_seq::text AS seq, subject, body, stored_at, coalesce(fault = 'broker-headers', false) AS forged, duplicate
               FROM audit.event_log WHERE stream_seq BETWEEN $1 AND $2 ORDER BY stream_seq`,
        values: [at, Math.min(to, at + CHUNK - 1)],
      });
      yield rows.map((r) => ({
        seq: Number(r.seq),
        subject: r.subject,
        bytes: r.body,
        time: r.stored_at,
        forged: r.forged,
        duplicate: r.duplicate,
      }));
    }
  };

/** Where all events come from: the stream, and the log for what the stream does not hold (any more). */
export interface Source extends Range {
  read: Read;
}

export async function sourceOf(hub: Hub | null, client: pg.Client): Promise<Source> {
  const stream = (await hub?.range()) ?? { first: 1, last: 0 };
  const log = await logRange(client);
  const fromLog = readLog(client);
  if (hub === null || stream.last < stream.first)
    return log === null ? { first: 1, last: 0, read: fromLog } : { ...log, read: fromLog };
  if (log === null || log.first >= stream.first) return { ...stream, read: hub.read };
  if (log.last < stream.first - 1)
    throw new Error(`sequences ${log.last + 1} to ${stream.first - 1} are neither in the log nor in the stream`);
  return {
    first: log.first,
    last: Math.max(stream.last, log.last),
    read: async function* (from, to) {
      yield* fromLog(from, Math.min(to, stream.first - 1));
      yield* hub.read(Math.max(from, stream.first), Math.min(to, stream.last));
      yield* fromLog(Math.max(from, stream.last + 1), to);
    },
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Null for what no service takes for an event. */
export function factOf({ seq, subject, bytes, time, forged }: Message): Fact | null {
  if (forged) return null;
  let event: HoldpointEvent;
  try {
    event = parseEvent(JSON.parse(utf8.decode(bytes)));
    checkSubject(event, subject);
  } catch {
    return null;
  }
  return { event, seq, streamTime: time };
}
