import { consumerName, type HoldpointEvent, STREAM, subjectOf } from '@holdpoint/contracts';
import { openDatabase, Unavailable } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { headers } from '@nats-io/nats-core';
import { sql } from 'kysely';
import type { JetStreamServerOptions } from '../src/index.js';
import {
  type Bus,
  Discard,
  deadLetters,
  type EventContext,
  EventPublisher,
  JetStreamServer,
  RetryLater,
} from '../src/index.js';
import { bringBack, busOf, Cable, expectLogs, open, publisherOf, taskCancelled, token } from './fixture.js';

expectLogs(
  / failed, attempt \d/,
  / waits, something it needs is down: /,
  / is a dead letter: (Error at|InvalidEvent|Discard)/,
  / was replayed$/,
  / failed again when replayed: /,
  / is not being consumed: (ClosedConnectionError|ConsumerNotFoundError)/,
  /^a connection broke: /,
);

const PATTERN = 'task.cancelled.>';
const CONSUMER = consumerName('agent-engine', PATTERN);
type Handler = (event: HoldpointEvent<'task.cancelled'>, ctx: EventContext) => Promise<unknown>;

let world: Awaited<ReturnType<typeof open>>;
let taskboard: Bus;
let hub: Bus;
let publisher: EventPublisher;
const running: JetStreamServer[] = [];

beforeAll(async () => {
  world = await open('agent-engine');
  taskboard = world.opened.on(await busOf(world.server, 'taskboard'), (b) => b.close());
  hub = world.opened.on(await busOf(world.server, 'hub'), (b) => b.close());
  publisher = publisherOf(taskboard);
  // What a killed server took with it is handed out again within the test.
  const { config } = await hub.jsm.consumers.info(STREAM, CONSUMER);
  await hub.jsm.consumers.update(STREAM, CONSUMER, { ...config, ack_wait: 2_000_000_000 });
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});
afterAll(() => world.opened.close());

const serve = (handler: Handler, options: Partial<JetStreamServerOptions> = {}) => {
  const server = new JetStreamServer({
    service: 'agent-engine',
    bus: world.bus,
    db: world.db,
    retryMs: () => 20,
    ...options,
  });
  server.addHandler(PATTERN, handler as never, true);
  server.listen((err) => {
    if (err) throw err;
  });
  running.push(server);
  return server;
};

const publishAll = async (events: HoldpointEvent[]) => {
  for (const event of events) await publisher.publish(event);
  return events;
};
const some = (n: number) => Array.from({ length: n }, () => taskCancelled(token()));

const effect = (event: HoldpointEvent, ctx: EventContext) =>
  ctx.once(async (tx) => {
    await tx.insertInto('effects').values({ event_id: event.id, seq: ctx.seq }).execute();
  });
const effects = async (events: HoldpointEvent[]) => {
  const rows = await world.db
    .selectFrom('effects')
    .select('event_id')
    .where(
      'event_id',
      'in',
      events.map((e) => e.id),
    )
    .execute();
  return rows.map((r) => r.event_id as string);
};
/** Of these events alone: a killed server forgets acknowledgements, and hands out old ones again. */
const lettersOf = async (events: HoldpointEvent[]) => {
  const subjects = new Set(events.map((e) => subjectOf(e)));
  return (await letters()).filter((letter) => subjects.has(letter.subject));
};
const letters = () =>
  deadLetters.list(world.db, { states: ['failing', 'recovered', 'dead', 'replayed'], limit: 10_000 });
const settled = () =>
  eventually(async () => {
    const { num_pending, num_ack_pending } = await hub.jsm.consumers.info(STREAM, CONSUMER);
    return num_pending === 0 && num_ack_pending === 0;
  });

describe('a handler', () => {
  it('gets each event with its place in the stream, and its effect happens once', async () => {
    const events = await publishAll(some(200));
    const seen: EventContext[] = [];
    const committed: number[] = [];
    serve(
      async (event, ctx) => {
        seen.push(ctx);
        expect(JSON.parse(Buffer.from(ctx.bytes).toString())).toEqual(event);
        expect(ctx.subject).toBe(subjectOf(event));
        await effect(event, ctx);
      },
      { committed: () => committed.push(1) },
    );
    await settled();
    expect((await effects(events)).sort()).toEqual(events.map((e) => e.id).sort());
    expect(committed).toHaveLength(200);
    expect(seen.every((c) => c.deliveries === 1 && Math.abs(c.streamTime.getTime() - Date.now()) < 60_000)).toBe(true);
    expect(await letters()).toEqual([]);
  });

  it('that is given an event again has no second effect', async () => {
    const event = taskCancelled(token());
    await publisher.publish(event);
    // The same event once more in the stream, as after the duplicate window.
    await taskboard.js.publish(subjectOf(event), JSON.stringify(event));
    const outcomes: boolean[] = [];
    serve(async (e, ctx) => outcomes.push(await effect(e, ctx)));
    await settled();
    expect(outcomes.sort()).toEqual([false, true]);
    expect(await effects([event])).toEqual([event.id]);
  });

  it('whose transaction fails has remembered nothing', async () => {
    const event = taskCancelled(token());
    await publisher.publish(event);
    let tries = 0;
    serve(async (e, ctx) => {
      await ctx.once(async (tx) => {
        await tx.insertInto('effects').values({ event_id: e.id, seq: ctx.seq }).execute();
        if (++tries < 3) throw new Error('not yet');
      });
    });
    await settled();
    expect(await effects([event])).toEqual([event.id]);
    expect((await letters())[0]).toMatchObject({ state: 'recovered', attempts: 2, subject: subjectOf(event) });
  });

  it('gets the events of one entity one after the other, in order', async () => {
    const ids = [token(), token(), token(), token()];
    const events = await publishAll(
      Array.from({ length: 80 }, (_, i) => taskCancelled(ids[i % 4] as string, `number ${i}`)),
    );
    const handled: HoldpointEvent[] = [];
    const busy = new Set<string>();
    let together = 0;
    serve(async (event) => {
      expect(busy.has(event.subject)).toBe(false);
      busy.add(event.subject);
      together = Math.max(together, busy.size);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
      busy.delete(event.subject);
      handled.push(event);
    });
    await settled();
    for (const id of ids)
      expect(handled.filter((e) => e.subject === id).map((e) => e.id)).toEqual(
        events.filter((e) => e.subject === id).map((e) => e.id),
      );
    expect(together).toBeGreaterThan(1);
  });

  it('may ask for the event later, which is no fault', async () => {
    const event = taskCancelled(token());
    await publisher.publish(event);
    let asked = 0;
    serve(async (e, ctx) => {
      if (++asked < 8) throw new RetryLater(10);
      await effect(e, ctx);
    });
    await settled();
    expect(await effects([event])).toEqual([event.id]);
    expect((await letters()).filter((l) => l.subject === subjectOf(event))).toEqual([]);
  });

  it('omni#1031: that takes longer than the acknowledgement wait is not given the event again', async () => {
    const { config } = await hub.jsm.consumers.info(STREAM, CONSUMER);
    await hub.jsm.consumers.update(STREAM, CONSUMER, { ...config, ack_wait: 300_000_000 });
    try {
      const event = taskCancelled(token());
      await publisher.publish(event);
      let begun = 0;
      serve(async () => {
        begun++;
        await new Promise((resolve) => setTimeout(resolve, 1_200));
      });
      await settled();
      expect(begun).toBe(1);
    } finally {
      await hub.jsm.consumers.update(STREAM, CONSUMER, config);
    }
  });

  it('of a pattern that the service does not consume is refused', () => {
    const server = new JetStreamServer({ service: 'agent-engine', bus: world.bus, db: world.db });
    server.addHandler('tool.proposed.>', (async () => undefined) as never, true);
    let refusal: unknown;
    server.listen((err) => {
      refusal = err;
    });
    expect(refusal).toMatchObject({ message: expect.stringContaining('has no consumer for tool.proposed.>') });
  });
});

describe('at least once, in any order', () => {
  it('has each effect once, on two instances, with duplicates, lost acknowledgements and a killed instance', async () => {
    const events = some(400);
    const sent = [...events, ...events.filter((_, i) => i % 5 === 0)];
    const order = sent.map((event, i) => ({ event, at: (i * 7919) % sent.length })).sort((a, b) => a.at - b.at);
    for (const { event } of order) await taskboard.js.publish(subjectOf(event), JSON.stringify(event));
    const deliveries = new Map<number, number>();
    const unreliable: Handler = async (event, ctx) => {
      await effect(event, ctx);
      const times = (deliveries.get(ctx.seq) ?? 0) + 1;
      deliveries.set(ctx.seq, times);
      // The effect has happened, yet the stream is not told.
      if (times < 2) throw new RetryLater(1);
    };
    const second = world.opened.on(await busOf(world.server, 'agent-engine'), (b) => b.close());
    serve(unreliable);
    serve(unreliable, { bus: second });
    await eventually(async () => (await effects(events)).length > 100);
    await second.nc.close();
    await settled();
    expect([...deliveries.values()].filter((n) => n < 2)).toEqual([]);
    expect((await effects(events)).sort()).toEqual(events.map((e) => e.id).sort());
  });

  it('while an event is to come again, those behind it of its entity wait', async () => {
    const id = token();
    const events = await publishAll([1, 2, 3, 4].map((n) => taskCancelled(id, `number ${n}`)));
    const other = taskCancelled(token());
    await publisher.publish(other);
    const handled: string[] = [];
    let faults = 0;
    serve(async (event) => {
      if (event.id === events[0]?.id && ++faults < 3) throw new Error('not yet');
      handled.push(event.id);
    });
    await settled();
    expect(handled).toHaveLength(5);
    expect(handled.filter((e) => e !== other.id)).toEqual(events.map((e) => e.id));
    await world.superuser.deleteFrom('dead_letters').execute();
  });
});

describe('poison', () => {
  it('is a dead letter after five faults, while the rest goes on, and can be replayed by hand', async () => {
    const events = some(60);
    const poisonous = new Set(events.filter((_, i) => i % 10 === 3).map((e) => e.id));
    let cured = false;
    const tries = new Map<string, number>();
    const server = serve(async (event, ctx) => {
      if (poisonous.has(event.id) && !cured) {
        tries.set(event.id, (tries.get(event.id) ?? 0) + 1);
        throw new Error(`SECRET ${event.data.reason}`);
      }
      await effect(event, ctx);
    });
    await publishAll(events);
    await settled();
    expect((await effects(events)).length).toBe(54);
    expect([...tries.values()]).toEqual([5, 5, 5, 5, 5, 5]);
    const dead = await deadLetters.list(world.db);
    expect(dead).toHaveLength(6);
    for (const letter of dead) {
      expect(letter).toMatchObject({ consumer: CONSUMER, attempts: 5, state: 'dead', replayable: true });
      expect(letter.lastError).not.toContain('SECRET');
    }

    await expect(server.replay(dead[0]?.id as number)).rejects.toThrow('SECRET');
    cured = true;
    for (const letter of dead) await server.replay(letter.id);
    expect((await effects(events)).length).toBe(60);
    expect(await deadLetters.list(world.db)).toEqual([]);
    await expect(server.replay(dead[0]?.id as number)).rejects.toMatchObject({ kind: 'conflict' });
    await expect(server.replay(1_000_000)).rejects.toMatchObject({ kind: 'not-found' });
  });

  it('that no handler could read is a dead letter at once', async () => {
    const good = taskCancelled(token());
    const event = taskCancelled('t9');
    const send = (subject: string, body: string | Uint8Array) => taskboard.js.publish(subject, body);
    await send('task.cancelled.acme.t9', 'no json');
    await send('task.cancelled.acme.t9', Uint8Array.from([0x22, 0xff, 0x22]));
    await send('task.cancelled.acme.t9', JSON.stringify({ ...event, extra: 1 }));
    await send(
      'task.cancelled.acme.t9',
      JSON.stringify({ ...event, dataschema: 'urn:holdpoint:event:task.cancelled:9' }),
    );
    await send('task.cancelled.acme.t8', JSON.stringify(event));
    await send('task.cancelled.other.t9', JSON.stringify(event));
    await send('task.cancelled.acme.t9', JSON.stringify({ ...event, source: '/holdpoint/policy' }));
    await publisher.publish(good);
    const handled: string[] = [];
    serve(async (e) => handled.push(e.id));
    await settled();
    expect(handled).toEqual([good.id]);
    const dead = await deadLetters.list(world.db);
    expect(dead.map((l) => [l.attempts, l.replayable])).toEqual(Array(7).fill([1, true]));
    await world.superuser.deleteFrom('dead_letters').execute();
  });

  it("with the broker's own headers is refused, and stays refused when replayed", async () => {
    const handled: string[] = [];
    const server = serve(async (e) => handled.push(e.id));
    for (const name of ['Nats-Stream', 'Nats-Subject', 'nats-subject']) {
      const forged = headers();
      forged.set(name, 'whatever');
      const event = taskCancelled(token());
      await taskboard.js.publish(subjectOf(event), JSON.stringify(event), { headers: forged });
    }
    await settled();
    const dead = await deadLetters.list(world.db);
    expect(dead.map((l) => l.replayable)).toEqual([false, false, false]);
    await expect(server.replay(dead[0]?.id as number)).rejects.toMatchObject({ kind: 'conflict' });
    expect(handled).toEqual([]);
    await world.superuser.deleteFrom('dead_letters').execute();
  });

  it('can be declared by the handler', async () => {
    const event = taskCancelled(token());
    await publisher.publish(event);
    let asked = 0;
    serve(async () => {
      asked++;
      throw new Discard('of no use to us');
    });
    await settled();
    expect(asked).toBe(1);
    expect((await deadLetters.list(world.db))[0]).toMatchObject({ lastError: 'Discard: of no use to us' });
    await world.superuser.deleteFrom('dead_letters').execute();
  });
});

describe('infrastructure that is down', () => {
  it('pauses the consumption, counts nothing, and is resumed from: the database', async () => {
    const cable = new Cable(new URL(world.url));
    await cable.up();
    world.opened.on(cable, (p) => p.down());
    const db = world.opened.on(openDatabase(cable.url), (d) => d.destroy());
    let failed = 0;
    serve(
      async (event, ctx) => {
        await effect(event, ctx).catch((err) => {
          failed++;
          throw err;
        });
      },
      { db },
    );
    const events = await publishAll(some(20));
    await settled();
    await cable.down();
    events.push(...(await publishAll(some(100))));
    await eventually(() => failed >= 3);
    // The rest was left where it is.
    expect(failed).toBeLessThan(60);
    await cable.up();
    const start = performance.now();
    await settled();
    expect(performance.now() - start).toBeLessThan(15_000);
    expect((await effects(events)).sort()).toEqual(events.map((e) => e.id).sort());
    expect(await lettersOf(events)).toEqual([]);
  });

  it('pauses, counts nothing and is resumed from: connections ended amid transactions', async () => {
    let within = 0;
    let open = false;
    serve(async (event, ctx) => {
      await ctx.once(async (tx) => {
        await tx.insertInto('effects').values({ event_id: event.id, seq: ctx.seq }).execute();
        within++;
        await eventually(
          () =>
            open ||
            tx
              .selectFrom('effects')
              .select('seq')
              .limit(1)
              .execute()
              .then(() => false),
        );
      });
    });
    const events = await publishAll(some(20));
    await eventually(() => within >= 5);
    await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND usename = 'hp_agent_engine'`.execute(world.superuser);
    open = true;
    await settled();
    expect((await effects(events)).sort()).toEqual(events.map((e) => e.id).sort());
    expect(await lettersOf(events)).toEqual([]);
  });

  it('pauses, counts nothing and is resumed from: another service', async () => {
    let down = true;
    let asked = 0;
    serve(async (event, ctx) => {
      asked++;
      if (down) throw new Unavailable('policy gives no answer');
      await effect(event, ctx);
    });
    const events = await publishAll(some(30));
    await eventually(() => asked > 2);
    down = false;
    await settled();
    expect((await effects(events)).length).toBe(30);
    expect(await lettersOf(events)).toEqual([]);
  });

  it('is resumed from: the bus, killed with events in hand', async () => {
    const server = serve(effect);
    const events = some(300);
    const publishing = (async () => {
      for (const event of events) await eventually(() => publisher.publish(event));
    })();
    await eventually(async () => (await effects(events)).length > 50);
    await world.server.kill9();
    await bringBack(world.server, hub);
    const start = performance.now();
    await publishing;
    await eventually(async () => (await effects(events)).length === 300, { timeoutMs: 20_000 });
    expect(performance.now() - start).toBeLessThan(15_000);
    server.check();
    expect(await lettersOf(events)).toEqual([]);
    await settled();
  });

  it('is waited for at start: the consumer is not there yet', async () => {
    const { config } = await hub.jsm.consumers.info(STREAM, CONSUMER);
    await hub.jsm.consumers.delete(STREAM, CONSUMER);
    const server = serve(effect);
    await eventually(() => {
      try {
        server.check();
        return false;
      } catch {
        return true;
      }
    });
    await hub.jsm.consumers.add(STREAM, config);
    const events = await publishAll(some(3));
    await eventually(async () => (await effects(events)).length === 3);
    server.check();
    await settled();
  });
});

describe('a stop', () => {
  it('finishes what is in hand and gives the rest back at once', async () => {
    let begun = 0;
    let ended = 0;
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = serve(
      async (event) => {
        if (event.data.reason === 'quick') return;
        begun++;
        await gate;
        ended++;
      },
      { concurrency: 4 },
    );
    // One of the first four stays, so that the next request fills all places and a message waits for one.
    await publishAll([taskCancelled(token()), ...[1, 2, 3].map(() => taskCancelled(token(), 'quick'))]);
    await publishAll(some(39));
    await eventually(() => begun === 4);
    const stopped = server.close();
    release();
    await stopped;
    expect([begun, ended]).toEqual([4, 4]);
    let rest = 0;
    serve(async () => {
      rest++;
    });
    const start = performance.now();
    await settled();
    expect(rest).toBe(36);
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
