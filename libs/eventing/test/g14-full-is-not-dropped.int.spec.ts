import { STREAM } from '@holdpoint/contracts';
import { eventually } from '@holdpoint/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { DiscardPolicy } from '@nats-io/jetstream';
import { EventPublisher, Outbox, OutboxRelay, StreamReader } from '../src/index.js';
import type { Outgoing } from '../src/publisher.js';
import { busOf, callStaged, open, token } from './fixture.js';
import { DEEP } from './guarantee.js';

// Guarantee G14: full is not dropped. The stream has room for a tenth of what is committed, and gets more by and by.
const EVENTS = DEEP ? 5_000 : 400;

let world: Awaited<ReturnType<typeof open>>;
afterEach(() => world.opened.close());

async function play(
  { events, discard }: { events: number; discard: DiscardPolicy },
  publisherOn: (reader: StreamReader) => EventPublisher,
) {
  world = await open('staging');
  const hub = world.opened.on(await busOf(world.server, 'hub'), (b) => b.close());
  const room = async (messages: number) => {
    const { config } = await hub.jsm.streams.info(STREAM);
    await hub.jsm.streams.update(STREAM, { ...config, max_msgs: messages, discard });
  };
  await room(events / 10);
  const outbox = new Outbox('staging');
  const sent = Array.from({ length: events }, () => callStaged(token()));
  for (let at = 0; at < sent.length; at += 100)
    await world.db.transaction().execute(async (tx) => {
      for (const event of sent.slice(at, at + 100)) await outbox.add(tx, event);
    });
  const publisher = publisherOn(new StreamReader(world.bus));
  const relay = new OutboxRelay({ service: 'staging', databaseUrl: world.url, publisher });
  relay.start();
  world.opened.on(relay, (r) => r.stop());

  const unsent = async () =>
    (await world.db.selectFrom('outbox').select('id').where('sent_at', 'is', null).execute()).length;
  const stored = async () => (await hub.jsm.streams.info(STREAM)).state.messages;
  await eventually(async () => (await stored()) >= events / 10, { timeoutMs: 30_000 });
  const grown = await unsent();
  for (const messages of [events / 2, -1]) {
    await room(messages);
    const until = messages < 0 ? events : messages;
    await eventually(async () => events - (await unsent()) >= until, { timeoutMs: 30_000 + events * 10 });
  }
  const { state } = await hub.jsm.streams.info(STREAM);
  const ids: string[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++)
    ids.push((await hub.jsm.streams.getMessage(STREAM, { seq }))?.json<{ id: string }>().id ?? 'missing');
  const failed = await world.db.selectFrom('outbox').select('id').where('failed', 'is not', null).execute();
  return { grown, failed: failed.length, sent: sent.map((e) => e.id).sort(), inStream: ids.sort() };
}

const holds = (r: Awaited<ReturnType<typeof play>>) => {
  expect(r.grown).toBeGreaterThan(0);
  expect(r.failed).toBe(0);
  expect(r.inStream).toEqual(r.sent);
};

const product = (reader: StreamReader) => new EventPublisher(world.bus, reader);

/** Takes every answer of the stream for a yes. */
class Careless extends EventPublisher {
  override async store(out: Outgoing): Promise<{ seq: number }> {
    return super.store(out).catch(() => ({ seq: 1 }));
  }
}

describe('G14', () => {
  it(`${EVENTS} events, room for a tenth of them: the outbox grows and drains, nothing is lost`, async () => {
    holds(await play({ events: EVENTS, discard: DiscardPolicy.New }, product));
  }, 400_000);

  it('mutant: the stream discards what is old → facts are gone', async () => {
    const result = await play({ events: 100, discard: DiscardPolicy.Old }, product);
    expect(() => holds(result)).toThrow();
    expect(result.inStream.length).toBeLessThan(100);
  }, 60_000);

  it('mutant: the publisher does not look at the error → facts are gone', async () => {
    const result = await play({ events: 100, discard: DiscardPolicy.New }, (reader) => new Careless(world.bus, reader));
    expect(() => holds(result)).toThrow();
    expect(result.inStream.length).toBeLessThan(100);
  }, 60_000);
});
