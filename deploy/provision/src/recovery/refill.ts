import { consumerName, STREAM, topology } from '@holdpoint/contracts';
import { jetstream, type PubAck } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import pg from 'pg';
import { SERVICES } from '../names.js';
import { beginConsumerAt } from './consumers.js';
import { lockOut, OUTBOXES } from './lock-out.js';
import { factOf, Hub, logRange, type Message, readLog } from './messages.js';
import { CannotRecover } from './projections.js';
import { type Recovery, rebuild } from './rebuild.js';

export interface Refilled {
  /** How many messages came from the log, and how many from outboxes whose events the log never had. */
  fromLog: number;
  fromOutboxes: number;
  /** What services had taken in and nobody has any more, in words: published to the lost stream alone, and not yet logged. */
  lost: string[];
  last: number;
}

const IN_FLIGHT = 256;
const PROGRESS = 10_000;

/**
 * Gives an empty stream, or one that ends too early, back what it lost: from the log in its order and under the same
 * sequences, then what outboxes had published and the log never got. Then every consumer is put before the first event whose
 * effect is not there, so that nothing is done again. Every service has to be stopped. Ended in the middle, it goes on.
 * @throws CannotRecover when the stream holds anything that the log does not: then it is not the log's to say what is right
 */
export async function refill(to: Recovery): Promise<Refilled> {
  if (to.bus === null) throw new CannotRecover('There is no bus to refill. Name it in NATS_URL.');
  const client = new pg.Client({ connectionString: to.ownerUrl, application_name: 'refill' });
  client.on('error', () => {});
  await client.connect();
  const hub = await Hub.open(to.bus.servers, to.bus.password);
  try {
    for (const service of SERVICES) await lockOut(client, service);
    const log = await logRange(client);
    if (log === null) throw new CannotRecover('The log is empty: there is nothing to refill the stream from.');
    const stream = await hub.range();
    if (stream === null) throw new CannotRecover('There is no stream. Provision first; it makes an empty one.');
    const there = await beyond(hub, client, log.last, stream.last);
    const from = await placeToGoOn(hub, client, stream, log);
    const fromLog = log.last - from + 1;
    to.say(
      fromLog > 0
        ? `the stream lacks ${from} to ${log.last}`
        : `the stream has all that the log has, up to ${log.last}`,
    );
    await publishLog(hub, client, from, log.last, to.say);
    const { fromOutboxes, lost } = await publishBeyond(hub, client, log.last, there, to.say);
    for (const line of lost) to.say(`LOST: ${line}`);
    const last = (await hub.range())?.last ?? 0;
    await placeConsumers(hub, to, last);
    return { fromLog: Math.max(0, fromLog), fromOutboxes, lost, last };
  } finally {
    await hub.close();
    await client.end();
  }
}

/** The first sequence that is to be published, once all that the stream holds is known to be the log's. */
async function placeToGoOn(
  hub: Hub,
  client: pg.Client,
  stream: { first: number; last: number },
  log: { first: number; last: number },
) {
  const read = readLog(client);
  for await (const messages of hub.read(stream.first, Math.min(stream.last, log.last))) {
    const logged = new Map<number, Message>();
    for await (const same of read(messages[0]?.seq ?? 1, messages.at(-1)?.seq ?? 0))
      for (const m of same) logged.set(m.seq, m);
    for (const m of messages)
      if (m.seq >= log.first && !isSame(m, logged.get(m.seq)))
        throw new CannotRecover(
          `Sequence ${m.seq} is another message in the stream than in the log: ${m.subject}. Somebody published to the empty stream, or it is another one. Keep a copy of it, take it away, provision, and refill; nothing was changed.`,
        );
  }
  const next = Math.max(stream.last + 1, stream.first);
  if (next >= log.first) return next;
  if (stream.last > 0)
    throw new CannotRecover(`The stream goes on at ${next} and the log begins at ${log.first}: they do not meet.`);
  await beginAt(hub, log.first);
  return log.first;
}

const isSame = (a: Message, b: Message | undefined): boolean =>
  b !== undefined && a.subject.replaceAll('\u0000', '\ufffd') === b.subject && Buffer.compare(a.bytes, b.bytes) === 0;

/** A log that does not begin with the first message of its stream: sequences stay what they were. Servers from 2.10 on can. */
async function beginAt(hub: Hub, first: number): Promise<void> {
  const { config } = await hub.jsm.streams.info(STREAM);
  const consumers = await hub.jsm.consumers.list(STREAM).next();
  await hub.jsm.streams.delete(STREAM);
  await hub.jsm.streams.add({ ...config, first_seq: first });
  for (const consumer of consumers) await hub.jsm.consumers.add(STREAM, consumer.config);
  if ((await hub.range())?.first !== first)
    throw new CannotRecover(
      `The log begins at ${first}, and this server cannot begin a stream there: use nats-server 2.10 or newer.`,
    );
}

async function publishLog(hub: Hub, client: pg.Client, from: number, to: number, say: Recovery['say']): Promise<void> {
  let told = from;
  for await (const messages of readLog(client)(from, to)) {
    for (let at = 0; at < messages.length; at += IN_FLIGHT) await publishSome(hub, messages.slice(at, at + IN_FLIGHT));
    const last = messages.at(-1)?.seq ?? to;
    if (last - told >= PROGRESS || last === to) say(`${last} of ${to} messages are in the stream`);
    if (last - told >= PROGRESS) told = last;
  }
}

/** Each under the sequence that it had: the server refuses any other. What an id keeps out goes once more, without it. */
async function publishSome(hub: Hub, messages: Message[]): Promise<void> {
  await Promise.allSettled(messages.map((m) => publish(hub, m, true)));
  for (let left = messages; ; ) {
    const last = (await hub.range())?.last ?? 0;
    left = left.filter((m) => m.seq > last);
    const next = left[0];
    if (next === undefined) return;
    const { seq } = await publish(hub, next, false);
    if (seq !== next.seq) throw new Error(`sequence ${next.seq} was stored as ${seq}: somebody else publishes`);
  }
}

/** The headers that matter: the event's id, by which a repetition is known; and the mark of what was forged. */
function publish(hub: Hub, message: Message, withId: boolean): Promise<PubAck> {
  const event = withId && !message.duplicate ? factOf(message)?.event : undefined;
  const h = headers();
  if (message.forged) h.append('Nats-Stream', STREAM);
  return jetstream(hub.nc).publish(message.subject, message.bytes, {
    expect: { lastSequence: message.seq - 1 },
    ...(event ? { msgID: event.id } : {}),
    ...(message.forged ? { headers: h } : {}),
  });
}

/**
 * What the lost stream had and the log never got: events of outboxes are published anew, each row keeps the sequence that it
 * has now, and what else services took in beyond the log's end is lost and forgotten.
 */
async function publishBeyond(
  hub: Hub,
  client: pg.Client,
  end: number,
  there: Map<string, number>,
  say: Recovery['say'],
) {
  const all = OUTBOXES.map(
    (s) => `SELECT '${s}' AS schema, id::text, event_id, subject, body, seq FROM ${s}.outbox WHERE seq > ${end}`,
  );
  const { rows } = await client.query(`${all.join(' UNION ALL ')} ORDER BY seq`);
  const now = new Map(there);
  for (const row of rows) {
    const seq =
      now.get(row.event_id) ??
      (await jetstream(hub.nc).publish(row.subject, Buffer.from(row.body), { msgID: row.event_id })).seq;
    now.set(row.event_id, seq);
    await client.query(`UPDATE ${row.schema}.outbox SET seq = $2 WHERE id = $1`, [row.id, seq]);
    for (const s of OUTBOXES)
      await client.query(`UPDATE ${s}.inbox SET stream_seq = $2 WHERE event_id = $1 AND stream_seq > ${end}`, [
        row.event_id,
        seq,
      ]);
  }
  if (rows.length > 0) say(`${rows.length} events of outboxes that the log never got are in the stream again`);
  const lost: string[] = [];
  for (const s of OUTBOXES) {
    const { rows: gone } = await client.query(
      `DELETE FROM ${s}.inbox WHERE stream_seq > $1 AND event_id <> ALL ($2::text[]) RETURNING consumer, event_id, stream_seq`,
      [end, [...now.keys()]],
    );
    lost.push(...gone.map((g) => `event ${g.event_id}, sequence ${g.stream_seq}, that ${g.consumer} had taken in`));
  }
  return { fromOutboxes: rows.length, lost };
}

/**
 * What an earlier try has published beyond the log's end already, by event and sequence.
 * @throws CannotRecover when there is anything else
 */
async function beyond(hub: Hub, client: pg.Client, end: number, last: number): Promise<Map<string, number>> {
  const there = new Map<string, number>();
  for await (const messages of hub.read(end + 1, last))
    for (const m of messages) there.set(factOf(m)?.event.id ?? `sequence ${m.seq}`, m.seq);
  if (there.size === 0) return there;
  const known = OUTBOXES.map((s) => `SELECT event_id FROM ${s}.outbox WHERE seq IS NOT NULL AND event_id = ANY ($1)`);
  const { rows } = await client.query(known.join(' UNION ALL '), [[...there.keys()]]);
  if (rows.length < there.size)
    throw new CannotRecover(
      `The stream ends at ${last} and holds what the log, which ends at ${end}, does not: it is not the one that lost something, or somebody published to it since. Start audit, and it takes up the rest, if that is all; nothing was changed.`,
    );
  return there;
}

/** Each durable consumer of a service before the first event whose effect is not in its rows; the others at the end. */
async function placeConsumers(hub: Hub, to: Recovery, last: number): Promise<void> {
  for (const service of SERVICES) {
    const unanswered = service === 'audit' ? new Map<string, number>() : (await rebuild(to, service, true)).unanswered;
    for (const pattern of topology[service].consumes) {
      const name = consumerName(service, pattern);
      await beginConsumerAt(hub, name, unanswered.get(name) ?? last + 1);
    }
  }
  to.say('every consumer stands before the first event whose effect is not there');
}
