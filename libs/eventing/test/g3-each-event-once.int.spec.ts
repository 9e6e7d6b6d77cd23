import { type HoldpointEvent, STREAM } from '@holdpoint/contracts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { EventHandler } from '../src/event-context.js';
import { busOf, open, taskCancelled, token } from './fixture.js';
import {
  atRest,
  CONSUMER,
  consumeWithoutFirstAcks,
  DEEP,
  flood,
  message,
  random,
  SEED,
  shuffled,
} from './guarantee.js';

// Guarantee G3: each event takes effect once. Every first acknowledgement is lost, a fifth of the events is stored twice,
// all are shuffled, and every tenth effect fails once inside its transaction.
const EVENTS = DEEP ? 10_000 : 1_000;

let world: Awaited<ReturnType<typeof open>>;
afterEach(() => world.opened.close());

/** How a handler makes sure of once; `db` is the service's own. */
type Once = (
  ctx: Parameters<EventHandler>[1],
  event: HoldpointEvent,
  effect: (db: unknown) => Promise<void>,
) => unknown;

async function play(events: number, once: Once) {
  world = await open('agent-engine');
  const hub = world.opened.on(await busOf(world.server, 'hub'), (b) => b.close());
  const taskboard = world.opened.on(await busOf(world.server, 'taskboard'), (b) => b.close());
  const { config } = await hub.jsm.consumers.info(STREAM, CONSUMER);
  await hub.jsm.consumers.update(STREAM, CONSUMER, { ...config, ack_wait: 1_000_000_000 });

  const next = random(SEED);
  const sent = Array.from({ length: events }, () => taskCancelled(token()));
  const again = shuffled(sent, next).slice(0, events / 5);
  await flood(taskboard, shuffled([...sent, ...again], next).map(message));

  const failing = new Set(sent.filter((_, i) => i % 10 === 0).map((e) => e.id));
  const { lost } = consumeWithoutFirstAcks(world.opened, world.bus, world.db, (event, ctx) =>
    Promise.resolve(
      once(ctx, event, async (db) => {
        if (failing.delete(event.id)) throw new Error('the effect fails once');
        const on = db as typeof world.db;
        await on.insertInto('effects').values({ event_id: event.id, seq: ctx.seq }).execute();
      }),
    ),
  );
  await atRest(hub, 20_000 + events * 20);
  expect(lost.size).toBe(events + events / 5);
  const rows = await world.db.selectFrom('effects').select('event_id').execute();
  return { sent: sent.map((e) => e.id).sort(), effects: rows.map((r) => r.event_id as string).sort() };
}

const holds = ({ sent, effects }: Awaited<ReturnType<typeof play>>) => expect(effects).toEqual(sent);

const product: Once = (ctx, _event, effect) => ctx.once((tx) => effect(tx));

describe(`G3, seed ${SEED}`, () => {
  it(`${EVENTS} events, every first acknowledgement lost, a fifth twice, shuffled: ${EVENTS} effects`, async () => {
    holds(await play(EVENTS, product));
  }, 400_000);

  it('mutant: no inbox → effects happen again', async () => {
    const result = await play(100, (_ctx, _event, effect) => effect(world.db));
    expect(() => holds(result)).toThrow();
    expect(result.effects.length).toBeGreaterThan(100);
  }, 60_000);

  it('mutant: the inbox row in a transaction of its own → effects are missing', async () => {
    const result = await play(100, async (ctx, _event, effect) => {
      if (await ctx.once(async () => undefined)) await effect(world.db);
    });
    expect(() => holds(result)).toThrow();
    expect(result.effects.length).toBeLessThan(100);
  }, 60_000);
});
