import { type HoldpointEvent, STREAM, subjectOf } from '@holdpoint/contracts';
import { isInfrastructureFault } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { type Bus, Outbox, OutboxRelay, Unpublishable } from '../src/index.js';
import { approvalVoted, bringBack, busOf, Cable, callStaged, expectLogs, open, publisherOf, token } from './fixture.js';

expectLogs(
  /^the relay starts over: /,
  /^events wait in the outbox: /,
  / its entity is held up: AlreadyDecided: /,
  /^a connection broke: /,
);

let world: Awaited<ReturnType<typeof open>>;
let hub: Bus;
const outbox = new Outbox('staging');
const running: OutboxRelay[] = [];

beforeAll(async () => {
  world = await open('staging');
  hub = world.opened.on(await busOf(world.server, 'hub'), (b) => b.close());
});
afterEach(async () => {
  for (const relay of running.splice(0)) await relay.stop();
});
afterAll(() => world.opened.close());

const relay = (databaseUrl = world.url, bus = world.bus) => {
  const started = new OutboxRelay({ service: 'staging', databaseUrl, publisher: publisherOf(bus) });
  started.start();
  running.push(started);
  return started;
};

const commit = (...events: HoldpointEvent[]) =>
  world.db.transaction().execute(async (tx) => {
    for (const event of events) await outbox.add(tx, event);
  });

/** Ids of a subject's events in the order of the stream. */
async function inStream(...subjects: string[]): Promise<string[]> {
  const { state } = await hub.jsm.streams.info(STREAM);
  const ids: string[] = [];
  for (let seq = 1; seq <= state.last_seq; seq++) {
    const message = await hub.jsm.streams.getMessage(STREAM, { seq });
    if (message && subjects.includes(message.subject)) ids.push(message.json<{ id: string }>().id);
  }
  return ids;
}

const rowOf = (event: HoldpointEvent) =>
  world.db.selectFrom('outbox').selectAll().where('event_id', '=', event.id).executeTakeFirstOrThrow();

describe('the relay', () => {
  it('publishes what was committed, nothing that was not, and says where it is stored', async () => {
    const [kept, dropped] = [callStaged(token()), callStaged(token())];
    const active = relay();
    await commit(kept);
    await world.db
      .transaction()
      .execute(async (tx) => {
        await outbox.add(tx, dropped);
        throw new Error('rolled back');
      })
      .catch(() => undefined);
    active.poke();
    const seq = await active.whenSent(kept.id, 5_000);
    expect((await hub.jsm.streams.getMessage(STREAM, { seq }))?.json()).toEqual(kept);
    await eventually(async () => (await rowOf(kept)).sent_at);
    expect(await rowOf(kept)).toMatchObject({ seq, failed: null });
    expect(await active.whenSent(kept.id, 5_000)).toBe(seq);
    await expect(active.whenSent(dropped.id, 50)).rejects.toThrow('not stored within');
  });

  it('keeps the order of an entity, whatever the subject', async () => {
    const ids = [token(), token(), token()];
    const events = ids.flatMap((id) => [
      callStaged(id),
      approvalVoted(id, 1),
      approvalVoted(id, 2),
      approvalVoted(id, 3),
    ]);
    await commit(...events);
    const active = relay();
    await Promise.all(events.map((e) => active.whenSent(e.id, 10_000)));
    for (const id of ids) {
      const own = events.filter((e) => e.subject === id);
      expect(await inStream(...own.map((e) => subjectOf(e)))).toEqual(own.map((e) => e.id));
    }
  });

  it('sends a row that commits after others with higher ids', async () => {
    const [late, early] = [callStaged(token()), callStaged(token())];
    const active = relay();
    await world.db.transaction().execute(async (tx) => {
      await outbox.add(tx, late);
      await commit(early);
      active.poke();
      await active.whenSent(early.id, 5_000);
      await eventually(async () => (await rowOf(early)).sent_at);
    });
    expect(await active.whenSent(late.id, 5_000)).toBeGreaterThan(0);
    expect((await rowOf(late)).id).toBeLessThan((await rowOf(early)).id);
  });

  it('finds rows without being poked', async () => {
    const event = callStaged(token());
    relay();
    await commit(event);
    await eventually(async () => (await rowOf(event)).sent_at);
  });

  it('of a service refuses events of another', async () => {
    await expect(
      world.db.transaction().execute((tx) => new Outbox('policy').add(tx, callStaged(token()))),
    ).rejects.toBeInstanceOf(Unpublishable);
  });
});

/** Waits until the stream has forgotten the message ids of all events stored so far. */
async function forgetIds() {
  const { config } = await hub.jsm.streams.info(STREAM);
  await hub.jsm.streams.update(STREAM, { ...config, duplicate_window: 100_000_000 });
  const probe = approvalVoted(token());
  const publish = () => world.bus.js.publish(subjectOf(probe), JSON.stringify(probe), { msgID: `probe-${probe.id}` });
  await publish();
  await eventually(async () => !(await publish()).duplicate);
}

describe('a crash between acknowledgement and mark', () => {
  it.each([
    ['a fact that happens once', callStaged],
    ['any other event', approvalVoted],
  ] as const)('stores %s once', async (_what, make) => {
    const event = make(token());
    const { seq } = await publisherOf(world.bus).publish(event);
    await commit(event);
    expect(await relay().whenSent(event.id, 5_000)).toBe(seq);
    expect(await inStream(subjectOf(event))).toEqual([event.id]);
  });

  it('is mended even when the stream has forgotten the ids since', async () => {
    const events = [callStaged(token()), approvalVoted(token())];
    for (const event of events) await publisherOf(world.bus).publish(event);
    await forgetIds();
    await commit(...events);
    await sql`UPDATE outbox SET created_at = now() - interval '1 hour' WHERE sent_at IS NULL`.execute(world.superuser);
    const active = relay();
    await Promise.all(events.map((e) => active.whenSent(e.id, 5_000)));
    expect(await inStream(...events.map((e) => subjectOf(e)))).toEqual(events.map((e) => e.id));
  });
});

describe('a fact that contradicts the stream', () => {
  it('is marked, reported and holds up its own entity alone', async () => {
    const [stored, other, behind] = [callStaged('k1', 1), callStaged('k1', 2), approvalVoted('k1')];
    const elsewhere = callStaged(token());
    await publisherOf(world.bus).publish(stored);
    await commit(other, behind, elsewhere);
    const active = relay();
    await expect(active.whenSent(other.id, 5_000)).rejects.toBeInstanceOf(Unpublishable);
    await active.whenSent(elsewhere.id, 5_000);
    await expect(active.check()).rejects.toThrow('cannot be published');
    await active.stop();
    expect(await rowOf(other)).toMatchObject({ sent_at: null, failed: expect.stringContaining('AlreadyDecided') });
    expect(await rowOf(behind)).toMatchObject({ sent_at: null, failed: null });
    await world.superuser.deleteFrom('outbox').where('entity', '=', 'acme.k1').execute();
  });
});

describe('several instances', () => {
  it('have one active relay, which sends for all, and another takes over when its connection dies', async () => {
    const bus = world.opened.on(await busOf(world.server, 'staging'), (b) => b.close());
    const relays = [relay(), relay(world.url, bus)];
    const holders = async () => {
      const { rows } = await sql<{ pid: number }>`
        SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()`.execute(world.superuser);
      return rows.map((r) => r.pid);
    };
    const [holder] = await eventually(async () => ((await holders()).length === 1 ? holders() : null));
    const send = async () => {
      const events = [callStaged(token()), callStaged(token())];
      await commit(...events);
      await Promise.all(events.map((e, i) => relays[i]?.whenSent(e.id, 10_000)));
      for (const event of events) expect(await inStream(subjectOf(event))).toEqual([event.id]);
    };
    await send();
    await sql`SELECT pg_terminate_backend(${holder})`.execute(world.superuser);
    await send();
    expect(await holders()).toHaveLength(1);
  });

  it('hand over at once when the active one is stopped', async () => {
    const [first, second] = [relay(), relay()];
    const event = callStaged(token());
    await first.stop();
    await commit(event);
    expect(await second.whenSent(event.id, 5_000)).toBeGreaterThan(0);
  });
});

describe('infrastructure that is down', () => {
  it('stops nothing for good: the database', async () => {
    const cable = new Cable(new URL(world.url));
    await cable.up();
    world.opened.on(cable, (p) => p.down());
    const active = relay(cable.url);
    const [before, after] = [callStaged(token()), callStaged(token())];
    await commit(before);
    await active.whenSent(before.id, 5_000);
    await cable.down();
    await commit(after);
    const fault = await active.whenSent(after.id, 300).catch((err) => err);
    expect(isInfrastructureFault(fault)).toBe(true);
    await cable.up();
    expect(await active.whenSent(after.id, 10_000)).toBeGreaterThan(0);
  });

  it('stops nothing for good: the bus, killed with events under way', async () => {
    const active = relay();
    const events = Array.from({ length: 300 }, () => [callStaged(token()), approvalVoted(token())]).flat();
    for (const event of events.slice(0, 100)) await commit(event);
    active.poke();
    await active.whenSent(events[0]?.id as string, 5_000);
    await world.server.kill9();
    await commit(...events.slice(100));
    active.poke();
    await bringBack(world.server, hub);
    await Promise.all(events.map((e) => active.whenSent(e.id, 20_000)));
    const subjects = events.map((e) => subjectOf(e));
    expect((await inStream(...subjects)).sort()).toEqual(events.map((e) => e.id).sort());
  });

  it('loses nothing when the stream is full: the outbox grows, then drains', async () => {
    const limit = async (max_bytes: number) => {
      const { config, state } = await hub.jsm.streams.info(STREAM);
      await hub.jsm.streams.update(STREAM, { ...config, max_bytes: max_bytes < 0 ? -1 : state.bytes + max_bytes });
    };
    await limit(20_000);
    const events = Array.from({ length: 60 }, () => callStaged(token()));
    await commit(...events);
    const active = relay();
    const unsent = async () =>
      Number(
        (
          await world.db
            .selectFrom('outbox')
            .select((e) => e.fn.countAll().as('n'))
            .where('sent_at', 'is', null)
            .executeTakeFirstOrThrow()
        ).n,
      );
    const refused = await eventually(async () => {
      const fault = await publisherOf(world.bus)
        .publish(callStaged(token()))
        .catch((err) => err);
      return fault instanceof Error ? fault : null;
    });
    expect(isInfrastructureFault(refused)).toBe(true);
    expect(await unsent()).toBeGreaterThan(0);
    await limit(-1);
    await Promise.all(events.map((e) => active.whenSent(e.id, 20_000)));
    await eventually(async () => (await unsent()) === 0);
    expect((await inStream(...events.map((e) => subjectOf(e)))).sort()).toEqual(events.map((e) => e.id).sort());
  });
});

describe('grants', () => {
  it.each([
    'DELETE FROM outbox',
    "UPDATE outbox SET body = '{}'",
    'UPDATE outbox SET subject = entity',
    'TRUNCATE outbox',
    'DELETE FROM inbox',
    "UPDATE inbox SET event_id = 'x'",
    'DELETE FROM dead_letters',
    "UPDATE dead_letters SET body = ''",
    'ALTER TABLE outbox DROP COLUMN failed',
    'DROP TABLE inbox',
  ])('do not allow: %s', async (statement) => {
    await expect(sql.raw(statement).execute(world.db)).rejects.toMatchObject({ code: '42501' });
  });
});
