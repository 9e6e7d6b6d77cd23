import { openDatabase } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { API_PREFIX, Bus, connectBus, deadLetters, JetStreamServer, Outbox, OutboxRelay } from '../src/index.js';
import { Cable, open, publisherOf, taskCancelled, token } from './fixture.js';
import { DEEP, PATTERN } from './guarantee.js';

// Guarantee G12: whatever happens to a connection, work on it resumes within 15 s, and nothing is dead-lettered for it.
// `npm test` samples the ways in which a connection ends; `npm run test:deep` plays all, and the mutant.
// The taskboard's relay publishes what the engine's consumer handles, each over cables of its own.
const WITHIN_MS = 15_000;

let world: Awaited<ReturnType<typeof open>>;
let engineCable: Cable;
let boardCable: Cable;
let handlerCable: Cable;
let relayCable: Cable;
const running: { close(): Promise<unknown> }[] = [];

beforeAll(async () => {
  world = await open('agent-engine');
  const cable = async (url: string) => {
    const up = new Cable(new URL(url));
    await up.up();
    return world.opened.on(up, (c) => c.down());
  };
  engineCable = await cable(world.server.url);
  boardCable = await cable(world.server.url);
  handlerCable = await cable(world.url);
  relayCable = await cable(world.url);
});
afterEach(async () => {
  for (const thing of running.splice(0).reverse()) await thing.close();
});
afterAll(() => world.opened.close());

/** A service at work: facts committed to its outbox, published by its relay, handled by its consumer. */
async function atWork(
  connectEngine = (url: string) =>
    connectBus({ servers: url, ...world.server.credentials('agent-engine'), name: 'agent-engine' }),
) {
  const bus = await connectEngine(engineCable.url);
  const board = await connectBus({
    servers: boardCable.url,
    ...world.server.credentials('taskboard'),
    name: 'taskboard',
  });
  const db = openDatabase<never>(handlerCable.url);
  const server = new JetStreamServer({ service: 'agent-engine', bus, db: db as never });
  const handle = async (
    event: { id: string },
    ctx: { seq: number; once: (fn: (tx: never) => Promise<void>) => unknown },
  ) =>
    ctx.once(async (tx) => {
      const on = tx as typeof world.db;
      await on.insertInto('effects').values({ event_id: event.id, seq: ctx.seq }).execute();
    });
  server.addHandler(PATTERN, handle as never, true);
  server.listen((err) => {
    if (err) throw err;
  });
  const relay = new OutboxRelay({
    service: 'taskboard',
    databaseUrl: relayCable.url,
    publisher: publisherOf(board),
  });
  relay.start();
  running.push(bus, board, { close: () => db.destroy() }, server, { close: () => relay.stop() });

  const outbox = new Outbox('taskboard');
  const works = async (timeoutMs: number) => {
    const event = taskCancelled(token());
    // By a way of its own: what is put to the test is what becomes of a fact that is committed.
    await world.db.transaction().execute((tx) => outbox.add(tx, event));
    await eventually(
      async () =>
        (await world.db.selectFrom('effects').select('seq').where('event_id', '=', event.id).execute()).length > 0,
      { timeoutMs, what: 'the effect' },
    );
  };
  await works(20_000);
  return works;
}

const resumes = async (works: (timeoutMs: number) => Promise<void>) => {
  await works(WITHIN_MS);
  const all = { states: ['failing', 'recovered', 'dead', 'replayed'] as const };
  expect(await deadLetters.list(world.db, { states: [...all.states] })).toEqual([]);
};

describe('G12, under a running service', () => {
  if (DEEP)
    it('the bus is frozen for 10 s', async () => {
      const works = await atWork();
      process.kill(world.server.pid, 'SIGSTOP');
      try {
        await expect(works(10_000)).rejects.toThrow('the effect');
      } finally {
        process.kill(world.server.pid, 'SIGCONT');
      }
      await resumes(works);
    }, 60_000);

  if (DEEP)
    it('connections to the bus are cut', async () => {
      const works = await atWork();
      for (const cable of [engineCable, boardCable]) await cable.down();
      try {
        await expect(works(3_000)).rejects.toThrow('the effect');
      } finally {
        for (const cable of [engineCable, boardCable]) await cable.up();
      }
      await resumes(works);
    }, 60_000);

  it('connections to the bus go silent', async () => {
    const works = await atWork();
    for (const cable of [engineCable, boardCable]) cable.mute();
    await resumes(works);
  }, 60_000);

  it('connections to the database are cut', async () => {
    const works = await atWork();
    for (const cable of [handlerCable, relayCable]) await cable.down();
    try {
      await expect(works(3_000)).rejects.toThrow('the effect');
    } finally {
      for (const cable of [handlerCable, relayCable]) await cable.up();
    }
    await resumes(works);
  }, 60_000);

  it("the handlers' connections to the database go silent", async () => {
    const works = await atWork();
    handlerCable.mute();
    await resumes(works);
  }, 60_000);

  if (DEEP)
    it("the relay's connection to the database goes silent", async () => {
      const works = await atWork();
      relayCable.mute();
      await resumes(works);
    }, 60_000);

  if (DEEP)
    it('mutant: the client of the bus as it comes → a silent connection is not noticed', async () => {
      const works = await atWork(async (url) => {
        const { user, pass } = world.server.credentials('agent-engine');
        const nc = await connect({ servers: url, user, pass, inboxPrefix: '_INBOX_agent-engine', noAsyncTraces: true });
        const api = { apiPrefix: API_PREFIX, checkAPI: false };
        return new Bus('agent-engine', nc, jetstream(nc, api), await jetstreamManager(nc, api));
      });
      engineCable.mute();
      await expect(resumes(works)).rejects.toThrow('the effect');
    }, 60_000);
});
