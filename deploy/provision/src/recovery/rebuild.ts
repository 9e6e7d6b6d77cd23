import { AWAITING, type Awaiting, type Fact, type Projection, type Row, type ServiceName } from '@holdpoint/contracts';
import pg from 'pg';
import { schemaOf } from '../names.js';
import { type Comparison, compare, inWords } from './compare.js';
import { exchange, unguarded } from './exchange.js';
import { lockOut, onlyOne } from './lock-out.js';
import { factOf, Hub, type Source, sourceOf } from './messages.js';
import { CannotRecover, projectionOf } from './projections.js';
import { Scratch } from './scratch.js';

export interface Recovery {
  /** The database, as its owner role. */
  ownerUrl: string;
  /** The bus as HUB; null when there is none, and the log is all there is. */
  bus: { servers: string; password: string } | null;
  /** The repository's or image's root. */
  root: string;
  say: (line: string) => void;
}

export interface Rebuilt extends Comparison {
  service: ServiceName;
  /** Last sequence that was taken in. */
  upTo: number;
  /** Whether rows were changed: there were differences, and it was not only looked. */
  exchanged: boolean;
  /** For each consumer the first event whose effect is not there: it has to be handed out again. */
  unanswered: Map<string, number>;
}

const PROGRESS = 10_000;
/**
 * Fills the service's `from-stream` and `derived` tables anew from the events, holds them against those that are there, and
 * puts in what differs. Goes on where an earlier try ended. What is in the service's outbox and not in the stream yet
 * counts as told.
 * @param look compare only, which may be done while the service runs; differences may then be what it is just doing
 * @throws CannotRecover when the service runs
 */
export async function rebuild(to: Recovery, service: ServiceName, look = false): Promise<Rebuilt> {
  const projection = await projectionOf(to.root, service);
  const client = new pg.Client({ connectionString: to.ownerUrl, application_name: `rebuild ${service}` });
  client.on('error', () => {});
  await client.connect();
  const hub = to.bus && (await Hub.open(to.bus.servers, to.bus.password));
  try {
    // Rows travel as JSON: one way to write a moment.
    await client.query(`SET TIME ZONE 'UTC'`);
    const schema = schemaOf(service);
    await onlyOne(client, service);
    if (!look) await lockOut(client, service);
    const scratch = new Scratch(client, schema, projection);
    const source = await sourceOf(service === 'audit' ? null : hub, client);
    const mark = await workOf(client, schema);
    await fill(scratch, source, (line) => to.say(`${service}: ${line}`));
    return await conclude(scratch, source, { to, service, look, mark });
  } finally {
    await hub?.close();
    await client.end();
  }
}

/** Changes whenever the service does anything: it remembers what it takes in, and promises what it brings about. */
async function workOf(client: pg.Client, schema: string): Promise<string> {
  const there = async (table: string) =>
    (await client.query('SELECT to_regclass($1) IS NOT NULL AS there', [`${schema}.${table}`])).rows[0].there;
  if (schema === 'audit') {
    const { rows } = await client.query('SELECT last_seq::text AS mark FROM audit.position');
    return rows[0]?.mark ?? '';
  }
  if (!(await there('outbox'))) return '';
  const { rows } = await client.query(
    `SELECT (SELECT coalesce(max(id), 0) FROM ${schema}.outbox) || ' ' || (SELECT count(*) FROM ${schema}.inbox) AS mark`,
  );
  return rows[0].mark;
}

async function fill(scratch: Scratch, source: Source, say: (line: string) => void): Promise<void> {
  const from = (await scratch.open()) ?? source.first;
  if (from > source.first) say(`goes on at sequence ${from}`);
  let told = from;
  const began = performance.now();
  for await (const messages of source.read(Math.max(from, source.first), source.last)) {
    const last = messages.at(-1)?.seq ?? 0;
    const facts = messages.filter((m) => !m.duplicate).flatMap((m) => factOf(m) ?? []);
    await scratch.client.query('BEGIN');
    await take(scratch, facts);
    await scratch.advance(last + 1);
    await scratch.client.query('COMMIT');
    if (last - told >= PROGRESS || last === source.last) {
      const perSecond = Math.round((last - from + 1) / ((performance.now() - began) / 1000));
      say(
        `${last} of ${source.last} events, ${perSecond} a second, ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB`,
      );
      told = last;
    }
  }
}

async function take(scratch: Scratch, facts: readonly Fact[]): Promise<void> {
  const { projection } = scratch;
  const rows = await scratch.load(facts.flatMap((f) => projection.reads(f)));
  for (const fact of facts) projection.apply(fact, rows);
  await scratch.write(rows);
}

interface Conclusion {
  to: Recovery;
  service: ServiceName;
  look: boolean;
  /** Of before the filling. */
  mark: string;
}

/** One transaction: ended in the middle, it has changed nothing, and the filled tables are there for the next try. */
async function conclude(scratch: Scratch, source: Source, { to, service, look, mark }: Conclusion): Promise<Rebuilt> {
  const { client, real } = scratch;
  await client.query('BEGIN');
  try {
    const guard = await unguarded(scratch);
    if (!look && (await workOf(client, real)) !== mark)
      throw new CannotRecover(
        `${service} worked while it was being rebuilt. Stop every instance of it and begin again.`,
      );
    await take(scratch, await unsent(client, real));
    const unanswered = await settleAwaited(scratch);
    const found = await compare(scratch);
    for (const difference of found.named) to.say(`${service}: ${inWords(difference)}`);
    if (found.total > found.named.length) to.say(`${service}: and ${found.total - found.named.length} more`);
    const exchanged = !look && found.total > 0;
    if (exchanged) await exchange(scratch);
    if (!look) await scratch.drop();
    await guard();
    await client.query(look ? 'ROLLBACK' : 'COMMIT');
    for (const [table, by] of Object.entries(scratch.projection.elsewhere ?? {}))
      to.say(`${service}: ${table} is not looked at: ${by}`);
    to.say(`${service}: ${found.total} differences${exchanged ? ', put right' : ''}; ${source.last} events`);
    return { ...found, service, upTo: source.last, exchanged, unanswered };
  } catch (err) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw err;
  } finally {
    if (look) await scratch.drop().catch(() => undefined);
  }
}

/** Facts that rows stand for and the stream does not have yet, in the order in which it will. */
async function unsent(client: pg.Client, schema: string): Promise<Fact[]> {
  if (schema === 'audit') return [];
  const { rows } = await client.query(
    `SELECT subject, body, created_at FROM ${schema}.outbox WHERE sent_at IS NULL ORDER BY id`,
  );
  return rows.flatMap((r) => {
    const message = { seq: 0, subject: r.subject, bytes: Buffer.from(r.body), time: r.created_at, forged: false };
    const fact = factOf({ ...message, duplicate: false });
    return fact === null ? [] : [{ ...fact, seq: null }];
  });
}

/**
 * Some of what awaits an answer will get none, as things stand now, and a dead letter waits for a person. The rest has to be
 * handed out again.
 */
async function settleAwaited(scratch: Scratch): Promise<Map<string, number>> {
  const { client, projection, schema } = scratch;
  const first = new Map<string, number>();
  if (!projection.notes?.includes(AWAITING)) return first;
  for (let after = ''; ; ) {
    const { rows } = await client.query(
      `SELECT id, value FROM ${schema}.${AWAITING} a WHERE id > $1 AND NOT EXISTS (SELECT FROM ${scratch.real}.dead_letters d
         WHERE d.consumer = a.value->>'consumer' AND d.stream_seq = (a.value->>'seq')::bigint AND d.state = 'dead')
       ORDER BY id LIMIT 500`,
      [after],
    );
    if (rows.length === 0) return first;
    await settleSome(scratch, projection, rows, first);
    after = rows.at(-1).id;
  }
}

async function settleSome(scratch: Scratch, projection: Projection, notes: Row[], first: Map<string, number>) {
  const awaited = notes.map(({ value }) => {
    const { consumer, seq, event } = value as Awaiting;
    return { consumer, seq, fact: { event, seq, streamTime: new Date(event.time) } };
  });
  const rows = await scratch.load(awaited.flatMap(({ fact }) => projection.reads(fact)));
  for (const { consumer, seq, fact } of awaited)
    if (projection.isMoot?.(fact, rows)) {
      rows.remove(AWAITING, fact.event.id);
      projection.apply(fact, rows);
    } else first.set(consumer, Math.min(first.get(consumer) ?? seq, seq));
  await scratch.write(rows);
}
