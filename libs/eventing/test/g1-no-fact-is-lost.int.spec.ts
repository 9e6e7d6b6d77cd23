import { type HoldpointEvent, STREAM } from '@holdpoint/contracts';
import { openDatabase } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { AnyDatabase } from '../src/event-context.js';
import { EventPublisher, Outbox, OutboxRelay, StreamReader } from '../src/index.js';
import { OutboxStore } from '../src/outbox-store.js';
import type { Outgoing } from '../src/publisher.js';
import { bringBack, busOf, callStaged, open, token } from './fixture.js';
import { DEEP, random, SEED } from './guarantee.js';

// Guarantee G1: no committed fact is lost. While facts are committed, some of them late, and their writers die before or
// after, the relay's session and the bus are killed. The whole system under kill -9 is e2e/test/guarantees.
const FACTS = DEEP ? 3_000 : 300;
const KILLS = DEEP ? 30 : 4;

let world: Awaited<ReturnType<typeof open>>;
afterEach(() => world.opened.close());

/** Commits a row and promises its event; `dies` is where the process of the writer ends, in the middle or at once after. */
type Write = (db: AnyDatabase, event: HoldpointEvent, dies: boolean) => Promise<void>;
interface Relay {
  stop(): Promise<void>;
}

const outbox = new Outbox('staging');
const row = (event: HoldpointEvent) => ({ event_id: event.id, seq: 0 });

const product: {
  write: Write;
  relay: (publisher: EventPublisher) => Relay;
  publisher: (r: StreamReader) => EventPublisher;
} = {
  write: (db, event) =>
    db.transaction().execute(async (tx) => {
      await tx.insertInto('effects').values(row(event)).execute();
      await outbox.add(tx, event);
    }),
  relay: (publisher) => {
    const relay = new OutboxRelay({ service: 'staging', databaseUrl: world.url, publisher });
    relay.start();
    return relay;
  },
  publisher: (reader) => new EventPublisher(world.bus, reader),
};

async function play(facts: number, kills: number, { write, relay, publisher }: typeof product, patienceMs: number) {
  world = await open('staging');
  const hub = world.opened.on(await busOf(world.server, 'hub'), (b) => b.close());
  const db = world.opened.on(openDatabase(world.url), (d) => d.destroy());
  const next = random(SEED);
  const instances = [1, 2].map(() => relay(publisher(new StreamReader(world.bus))));
  world.opened.on(instances, (all) => Promise.all(all.map((r) => r.stop())));

  const sent = async (events: HoldpointEvent[]) => {
    const ids = events.map((e) => e.id);
    const rows = await world.db
      .selectFrom('outbox')
      .select('id')
      .where('event_id', 'in', ids)
      .where('sent_at', 'is not', null)
      .execute();
    return rows.length === events.length;
  };
  let committed = 0;
  const writing = (async () => {
    for (; committed < facts; committed++) {
      const event = callStaged(token());
      if (committed % 50 !== 25) await write(db, event, next() < 0.1);
      else {
        // Its outbox row has a low id and commits after later rows were sent.
        await world.db.transaction().execute(async (tx) => {
          await write(
            { transaction: () => ({ execute: (fn: (t: unknown) => unknown) => fn(tx) }) } as never,
            event,
            false,
          );
          const others = Array.from({ length: 5 }, () => callStaged(token()));
          for (const other of others) await write(db, other, false);
          await eventually(() => sent(others), { timeoutMs: 20_000 }).catch(() => undefined);
        });
      }
    }
  })();
  for (let kill = 1; kill <= kills; kill++) {
    await eventually(() => committed >= (facts * kill) / (kills + 1), { timeoutMs: 120_000 });
    if (next() < 0.5) {
      await world.server.kill9();
      await bringBack(world.server, hub);
    } else
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'staging relay'`.execute(world.superuser);
  }
  await writing;

  const inStream = async () => {
    const { state } = await hub.request(() => hub.jsm.streams.info(STREAM));
    const ids: string[] = [];
    for (let seq = 1; seq <= state.last_seq; seq++)
      ids.push((await hub.jsm.streams.getMessage(STREAM, { seq }))?.json<{ id: string }>().id ?? 'missing');
    return ids.sort();
  };
  const rows = (await world.db.selectFrom('effects').select('event_id').execute()).map((r) => r.event_id as string);
  const all = { timeoutMs: patienceMs, everyMs: 250 };
  await eventually(async () => (await hub.jsm.streams.info(STREAM)).state.messages >= rows.length, all).catch(() => 0);
  return { rows: rows.sort(), stream: await inStream() };
}

const holds = ({ rows, stream }: Awaited<ReturnType<typeof play>>) => {
  expect(rows.length).toBeGreaterThan(0);
  expect(stream).toEqual(rows);
};

describe(`G1, seed ${SEED}`, () => {
  it(`${FACTS} facts, ${KILLS} kills of relay and bus: rows = stream`, async () => {
    holds(await play(FACTS, KILLS, product, 60_000));
  }, 600_000);

  if (DEEP)
    it('mutant: the outbox entry outside of the transaction → a writer that dies leaves a row without a fact', async () => {
      const write: Write = async (db, event, dies) => {
        await db.transaction().execute((tx) => tx.insertInto('effects').values(row(event)).execute());
        if (!dies) await db.transaction().execute((tx) => outbox.add(tx, event));
      };
      const result = await play(100, 0, { ...product, write }, 5_000);
      expect(() => holds(result)).toThrow();
      expect(result.stream.length).toBeLessThan(result.rows.length);
    }, 60_000);

  it('mutant: marked as sent before the acknowledgement → what the bus had not taken is gone', async () => {
    class Hasty extends EventPublisher {
      override async store(out: Outgoing): Promise<{ seq: number }> {
        void super.store(out).catch(() => undefined);
        return { seq: 1 };
      }
    }
    // The bus is away while the facts are committed.
    world = await open('staging');
    const hub = world.opened.on(await busOf(world.server, 'hub'), (b) => b.close());
    await world.server.kill9();
    const hasty = product.relay(new Hasty(world.bus, new StreamReader(world.bus)));
    const events = Array.from({ length: 50 }, () => callStaged(token()));
    for (const event of events) await product.write(world.db, event, false);
    await eventually(
      async () =>
        (await world.db.selectFrom('outbox').select('id').where('sent_at', 'is', null).execute()).length === 0,
    );
    await hasty.stop();
    await world.bus.close();
    await bringBack(world.server, hub);
    const { state } = await hub.request(() => hub.jsm.streams.info(STREAM));
    expect(() => holds({ rows: events.map((e) => e.id), stream: Array(state.messages).fill('some') })).toThrow();
    expect(state.messages).toBeLessThan(50);
  }, 60_000);

  if (DEEP)
    it('mutant: the relay picks "id beyond the last" → what commits late is passed over', async () => {
      const relay: typeof product.relay = (publisher) => {
        const stopping = new AbortController();
        const running = (async () => {
          const store = await OutboxStore.open(world.url, 'staging', () => undefined);
          let last = 0;
          while (!stopping.signal.aborted) {
            const rows = (await store.unsent(500)).filter((r) => Number(r.rowId) > last);
            for (const r of rows) {
              const { seq } = await publisher.store(r);
              await store.markSent([{ rowId: r.rowId, seq }]);
              last = Number(r.rowId);
            }
            await new Promise((resolve) => setImmediate(resolve));
          }
          await store.close();
        })();
        return {
          stop: () => {
            stopping.abort();
            return running;
          },
        };
      };
      const one = { ...product, relay };
      const result = await play(60, 0, one, 5_000);
      expect(() => holds(result)).toThrow();
      expect(result.stream.length).toBeLessThan(result.rows.length);
    }, 60_000);
});
