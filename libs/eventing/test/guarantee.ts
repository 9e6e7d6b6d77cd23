import { consumerName, type HoldpointEvent, STREAM, subjectOf } from '@holdpoint/contracts';
import { eventually } from '@holdpoint/testing';
import { Logger } from '@nestjs/common';
import { ConsumerLoop } from '../src/consumer-loop.js';
import { Deliverer } from '../src/deliver.js';
import type { AnyDatabase, EventHandler } from '../src/event-context.js';
import type { Bus } from '../src/index.js';
import type { Opened } from './fixture.js';

// Faults are what these tests are about; thousands of lines of them would hide a failure.
Logger.overrideLogger(false);

/** The full counts of the guarantees rather than a sample. */
export const DEEP = process.env['HOLDPOINT_DEEP'] !== undefined;
/** Of every random choice. Stands in the tests' names, so that a failure can be run again with `HOLDPOINT_SEED`. */
export const SEED = Number(process.env['HOLDPOINT_SEED'] ?? (DEEP ? Date.now() % 1_000_000 : 1));

/** Deterministic from its seed (mulberry32). */
export function random(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function shuffled<T>(items: readonly T[], next: () => number): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    [out[i], out[j]] = [out[j] as T, out[i] as T];
  }
  return out;
}

/** Stores messages as they are, without an id that the stream would know a duplicate by. */
export async function flood(bus: Bus, messages: { subject: string; body: string }[]): Promise<void> {
  for (let at = 0; at < messages.length; at += 200)
    await Promise.all(messages.slice(at, at + 200).map((m) => bus.js.publish(m.subject, m.body)));
}

export const message = (event: HoldpointEvent) => ({ subject: subjectOf(event), body: JSON.stringify(event) });

export const PATTERN = 'task.cancelled.>';
export const CONSUMER = consumerName('agent-engine', PATTERN);

/** Resolves once the consumer has nothing left to hand out and nothing in hand. */
export const atRest = (hub: Bus, timeoutMs: number) =>
  eventually(
    async () => {
      const { num_pending, num_ack_pending } = await hub.jsm.consumers.info(STREAM, CONSUMER);
      return num_pending === 0 && num_ack_pending === 0;
    },
    { timeoutMs, everyMs: 100, what: 'the end of the deliveries' },
  );

/** The consumer as it is in the product, but for a first acknowledgement of each message, which is lost on the way. */
export function consumeWithoutFirstAcks(
  opened: Opened,
  bus: Bus,
  db: AnyDatabase,
  handler: EventHandler,
): { lost: Set<number>; close: () => Promise<void> } {
  const lost = new Set<number>();
  const deliverer = new Deliverer({
    consumer: CONSUMER,
    handler,
    db,
    committed: () => undefined,
    attempts: 5,
    retryMs: () => 20,
  });
  const loop = new ConsumerLoop({
    bus,
    consumer: CONSUMER,
    concurrency: 32,
    deliver: (delivered) => {
      const ack = delivered.ack.bind(delivered);
      delivered.ack = () => {
        if (lost.has(delivered.seq)) ack();
        else lost.add(delivered.seq);
      };
      return deliverer.deliver(delivered);
    },
  });
  loop.start();
  opened.on(loop, (l) => l.stop());
  return { lost, close: () => loop.stop() };
}
