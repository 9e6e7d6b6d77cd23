import { consumerName, STREAM, subjectOf } from '@holdpoint/contracts';
import { eventually, startBus, type TestBus } from '@holdpoint/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { headers } from '@nats-io/nats-core';
import { type BatchConsumer, type Bus, consumeBatches, type RawMessage } from '../src/index.js';
import { bringBack, busOf, expectLogs, Opened, publisherOf, taskCancelled, token } from './fixture.js';

expectLogs(/ events from \d+, failed: /, /^the stream no longer holds events /);

const CONSUMER = consumerName('audit', '>');
const opened = new Opened();
let server: TestBus;
let audit: Bus;
let taskboard: Bus;
let hub: Bus;
const running: BatchConsumer[] = [];

beforeAll(async () => {
  server = opened.on(await startBus(), (s) => s.stop());
  audit = opened.on(await busOf(server, 'audit'), (b) => b.close());
  taskboard = opened.on(await busOf(server, 'taskboard'), (b) => b.close());
  hub = opened.on(await busOf(server, 'hub'), (b) => b.close());
});
afterEach(async () => {
  for (const consumer of running.splice(0)) await consumer.stop();
});
afterAll(() => opened.close());

const start = (onBatch: (batch: RawMessage[]) => Promise<void>, max = 50) => {
  const consumer = consumeBatches({ bus: audit, consumer: CONSUMER, max }, onBatch);
  running.push(consumer);
  return consumer;
};
const publish = async (n: number) => {
  for (let i = 0; i < n; i++) await publisherOf(taskboard).publish(taskCancelled(token()));
};
const lastSeq = async () => (await hub.jsm.streams.info(STREAM)).state.last_seq;
const floor = async () => (await hub.jsm.consumers.info(STREAM, CONSUMER)).ack_floor.stream_seq;
const acknowledged = () => eventually(async () => (await floor()) === (await lastSeq()));
const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe('batches', () => {
  it('hold every message in stream order, byte for byte, as many as have come in meanwhile', async () => {
    await publish(230);
    const sizes: number[] = [];
    const seen: RawMessage[] = [];
    start(async (batch) => {
      sizes.push(batch.length);
      seen.push(...batch);
      await new Promise((resolve) => setTimeout(resolve, 5));
    });
    await acknowledged();
    expect(seen.map((m) => m.seq)).toEqual(upTo(1, 230));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(50);
    expect(sizes.length).toBeLessThan(115);
    const stored = await hub.jsm.streams.getMessage(STREAM, { seq: 17 });
    expect(Buffer.from(seen[16]?.bytes as Uint8Array)).toEqual(Buffer.from(stored?.data as Uint8Array));
    expect(seen[16]).toMatchObject({ subject: stored?.subject });
    expect(Math.abs((seen[16]?.time.getTime() ?? 0) - (stored?.time.getTime() ?? 0))).toBeLessThan(2);
  });

  it('come again, the same and before all others, until they were taken', async () => {
    const from = (await lastSeq()) + 1;
    const tries: number[][] = [];
    const consumer = start(async (batch) => {
      tries.push(batch.map((m) => m.seq));
      if (tries.length < 4) throw new Error('the database is down');
    });
    await publish(1);
    await eventually(() => tries.length === 2);
    expect(() => consumer.check()).toThrow('Error');
    await publish(20);
    expect(await floor()).toBe(from - 1);
    await acknowledged();
    expect(tries.slice(0, 4)).toEqual(Array(4).fill([from]));
    expect(tries.slice(3).flat()).toEqual(upTo(from, from + 20));
    consumer.check();
  });

  it('are not acknowledged when stopped within, and are handed to the successor at once, without a gap', async () => {
    const from = (await lastSeq()) + 1;
    await publish(40);
    let begun = 0;
    const first = start(async () => {
      begun++;
      throw new Error('never');
    });
    await eventually(() => begun > 0);
    await first.stop();
    expect(await floor()).toBe(from - 1);
    const seen: number[] = [];
    start(async (batch) => {
      seen.push(...batch.map((m) => m.seq));
    });
    // Long before the consumer's acknowledgement wait is over: what the predecessor had in hand is fetched from the stream.
    await eventually(() => seen.length === 40);
    // What was fetched can be acknowledged once it is delivered again, if nothing new comes in before.
    const { config } = await hub.jsm.consumers.info(STREAM, CONSUMER);
    await hub.jsm.consumers.update(STREAM, CONSUMER, { ...config, ack_wait: 500_000_000 });
    await acknowledged();
    await hub.jsm.consumers.update(STREAM, CONSUMER, config);
    expect(seen).toEqual(upTo(from, from + 39));
  });

  it('pass over no delivery that was lost on the way', async () => {
    const from = (await lastSeq()) + 1;
    const seen: number[] = [];
    start(async (batch) => {
      seen.push(...batch.map((m) => m.seq));
    });
    await publish(1);
    await acknowledged();
    const thief = await audit.js.consumers.get(STREAM, CONSUMER);
    let stolen = 0;
    const stealing = (async () => {
      for await (const _ of await thief.fetch({ max_messages: 15, expires: 1_000 })) stolen++;
    })();
    await publish(60);
    await stealing;
    expect(stolen).toBeGreaterThan(0);
    await publish(1);
    await acknowledged();
    expect(seen).toEqual(upTo(from, from + 61));
  });

  it('hold forged and empty messages too, as they were stored', async () => {
    const from = (await lastSeq()) + 1;
    const forged = headers();
    forged.set('Nats-Subject', 'approval.decided.acme.c1');
    const event = taskCancelled(token());
    await taskboard.js.publish(subjectOf(event), 'forged', { headers: forged });
    await taskboard.js.publish(subjectOf(event), '');
    await publish(3);
    // Half of them are fetched from the stream instead of delivered.
    const lost = await audit.js.consumers.get(STREAM, CONSUMER);
    for await (const _ of await lost.fetch({ max_messages: 1, expires: 1_000 })) break;
    const seen: RawMessage[] = [];
    start(async (batch) => {
      seen.push(...batch);
    });
    await eventually(
      async () => {
        await publish(1);
        return (await floor()) >= from + 4;
      },
      { timeoutMs: 20_000, everyMs: 500 },
    );
    expect(seen.slice(0, 5).map((m) => [m.seq, m.bytes.length > 6, m.headers?.get('Nats-Subject') || 'none'])).toEqual([
      [from, false, 'approval.decided.acme.c1'],
      [from + 1, false, 'none'],
      [from + 2, true, 'none'],
      [from + 3, true, 'none'],
      [from + 4, true, 'none'],
    ]);
    expect(seen[0]?.subject).toBe(subjectOf(event));
    await acknowledged();
  });

  it('go on after the server was killed', async () => {
    const from = (await lastSeq()) + 1;
    const seen: number[] = [];
    start(async (batch) => {
      seen.push(...batch.map((m) => m.seq));
    });
    await publish(30);
    await server.kill9();
    await bringBack(server, hub);
    const since = performance.now();
    await eventually(() => publish(30).then(() => true), { timeoutMs: 15_000 });
    await acknowledged();
    expect(performance.now() - since).toBeLessThan(15_000);
    expect(seen).toEqual(upTo(from, await lastSeq()));
  });

  it('go on behind what the stream no longer holds', async () => {
    await publish(10);
    const { config } = await hub.jsm.streams.info(STREAM);
    await hub.jsm.streams.update(STREAM, { ...config, max_age: 200_000_000, duplicate_window: 100_000_000 });
    await eventually(async () => (await hub.jsm.streams.info(STREAM)).state.messages === 0);
    await hub.jsm.streams.update(STREAM, config);
    const from = (await lastSeq()) + 1;
    const seen: number[] = [];
    start(async (batch) => {
      seen.push(...batch.map((m) => m.seq));
    });
    await publish(5);
    await acknowledged();
    expect(seen).toEqual(upTo(from, from + 4));
  });
});
