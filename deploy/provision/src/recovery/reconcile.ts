import type { ServiceName } from '@holdpoint/contracts';
import pg from 'pg';
import { SERVICES } from '../names.js';
import { OUTBOXES } from './lock-out.js';
import { Hub, logRange, type Message, type Range, readLog } from './messages.js';
import { CannotRecover } from './projections.js';
import { type Recovery, rebuild } from './rebuild.js';

const NAMED = 100;

/**
 * Holds stream and log against each other, message by message, what outboxes and inboxes say against both, and every
 * service's rows against what the events say. Changes nothing. Says each difference (of one kind at most 100).
 * @param services whose rows are looked at; default all
 * @returns how many there are
 */
export async function reconcile(to: Recovery, services: readonly ServiceName[] = SERVICES): Promise<number> {
  if (to.bus === null) throw new CannotRecover('There is no bus to compare with. Name it in NATS_URL.');
  const client = new pg.Client({ connectionString: to.ownerUrl, application_name: 'reconcile' });
  client.on('error', () => {});
  await client.connect();
  const hub = await Hub.open(to.bus.servers, to.bus.password);
  let found = 0;
  const differs = (line: string) => {
    found += 1;
    if (found <= NAMED) to.say(line);
  };
  try {
    const stream = await hub.range();
    if (stream === null) throw new CannotRecover('There is no stream. Provision, and refill it.');
    const log = (await logRange(client)) ?? { first: 1, last: 0 };
    await compareWithLog(hub, client, stream, log, differs);
    await compareBoxes(hub, client, stream, differs);
  } finally {
    await hub.close();
    await client.end();
  }
  for (const service of services) {
    const { total, unanswered } = await rebuild(to, service, true);
    found += total;
    // Of a service that runs this is what it has before it.
    for (const [consumer, seq] of unanswered) to.say(`${consumer}: nothing came of sequence ${seq} yet`);
  }
  to.say(found === 0 ? 'stream, log and rows agree' : `${found} differences`);
  return found;
}

async function compareWithLog(hub: Hub, client: pg.Client, stream: Range, log: Range, differs: (line: string) => void) {
  if (stream.last > log.last)
    differs(`the log ends at ${log.last}, the stream at ${stream.last}: audit is behind, or did not log the rest`);
  if (log.last > stream.last)
    differs(
      `the stream ends at ${stream.last}, the log at ${log.last}: it was lost or restored from a backup; refill it`,
    );
  const read = readLog(client);
  for await (const messages of hub.read(Math.max(stream.first, log.first), Math.min(stream.last, log.last))) {
    const logged = new Map<number, Message>();
    for await (const same of read(messages[0]?.seq ?? 1, messages.at(-1)?.seq ?? 0))
      for (const m of same) logged.set(m.seq, m);
    for (const m of messages) {
      const other = logged.get(m.seq);
      if (other === undefined) differs(`sequence ${m.seq} (${m.subject}) is not in the log`);
      else if (other.subject !== m.subject.replaceAll('\u0000', '\ufffd') || Buffer.compare(other.bytes, m.bytes) !== 0)
        differs(`sequence ${m.seq} is ${m.subject} in the stream and ${other.subject} in the log, or has another body`);
    }
  }
}

/**
 * What services know of sequences: each must be there and be that event. This is how a stream-first event shows that was on
 * the stream and is in neither now: somebody took it in.
 */
async function compareBoxes(
  hub: Hub,
  client: pg.Client,
  stream: Range,
  differs: (line: string) => void,
): Promise<void> {
  const claims = OUTBOXES.flatMap((s) => [
    `SELECT '${s} published it' AS who, event_id, seq FROM ${s}.outbox WHERE seq IS NOT NULL`,
    `SELECT consumer || ' took it in' AS who, event_id, stream_seq AS seq FROM ${s}.inbox`,
  ]);
  const { rows: elsewhere } = await client.query(
    `SELECT c.who, c.event_id, c.seq::text, l.event_id AS other FROM (${claims.join(' UNION ALL ')}) c
     LEFT JOIN audit.event_log l ON l.stream_seq = c.seq
     WHERE l.event_id IS DISTINCT FROM c.event_id ORDER BY c.seq`,
  );
  for (const { who, event_id, seq, other } of elsewhere) {
    // Not logged yet, but still in the stream.
    if (other === null && Number(seq) <= stream.last && (await isAt(hub, Number(seq), event_id))) continue;
    differs(`event ${event_id}, sequence ${seq}, is lost or stands elsewhere: ${who}`);
  }
}

async function isAt(hub: Hub, seq: number, eventId: string): Promise<boolean> {
  for await (const [message] of hub.read(seq, seq))
    return Buffer.from(message?.bytes ?? []).includes(`"id":${JSON.stringify(eventId)}`);
  return false;
}
