import { STREAM, subjectFor } from '@holdpoint/contracts';
import { isInfrastructureFault } from '@holdpoint/runtime';
import { startBus, type TestBus } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { headers } from '@nats-io/nats-core';
import {
  AlreadyDecided,
  type Bus,
  EventPublisher,
  FactWaiter,
  newId,
  StreamReader,
  Unpublishable,
} from '../src/index.js';
import { bringBack, busOf, Opened, policyDecided, publisherOf, taskCancelled, token } from './fixture.js';

const opened = new Opened();
let server: TestBus;
let policy: Bus;
let taskboard: Bus;
let engine: Bus;
let hub: Bus;

beforeAll(async () => {
  server = opened.on(await startBus(), (s) => s.stop());
  const connected = async (user: Parameters<typeof busOf>[1]) => opened.on(await busOf(server, user), (b) => b.close());
  [policy, taskboard, engine, hub] = [
    await connected('policy'),
    await connected('taskboard'),
    await connected('agent-engine'),
    await connected('hub'),
  ];
});
afterAll(() => opened.close());

const stored = async (subject: string) =>
  (await hub.jsm.streams.info(STREAM, { subjects_filter: subject })).state.subjects?.[subject] ?? 0;

describe('a fact that can happen once', () => {
  it('is stored once however often it is published, by a service that cannot read the leader', async () => {
    const event = policyDecided(token());
    const first = await publisherOf(policy).publish(event);
    const again = await Promise.all([1, 2, 3].map(() => publisherOf(policy).publish(event)));
    expect(again).toEqual([first, first, first]);
    expect(await stored(subjectFor('policy.decided', 'acme', event.subject))).toBe(1);
  });

  it('is handed back when another one stands there', async () => {
    const [first, second] = [policyDecided('k1', 'deny'), policyDecided('k1', 'auto')];
    const { seq } = await publisherOf(policy).publish(first);
    const refusal = await publisherOf(policy)
      .publish(second)
      .catch((err) => err);
    expect(refusal).toBeInstanceOf(AlreadyDecided);
    expect(refusal.stored).toMatchObject({ seq, event: { id: first.id, data: { verdict: 'deny' } } });
    expect(isInfrastructureFault(refusal)).toBe(false);
  });

  it('of the same id and another content is a conflict', async () => {
    const event = policyDecided('k2');
    await publisherOf(policy).publish(event);
    const changed = { ...event, data: { ...event.data, verdict: 'deny' as const } };
    await expect(publisherOf(policy).publish(changed)).rejects.toBeInstanceOf(AlreadyDecided);
  });

  it('has one winner when many publish at once', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, () => publisherOf(policy).publish(policyDecided('k3'))),
    );
    expect(outcomes.filter((o) => o.status === 'fulfilled')).toHaveLength(1);
    const ids = outcomes.flatMap((o) => (o.status === 'rejected' ? [o.reason.stored.event.id] : []));
    expect(new Set(ids).size).toBe(1);
  });
});

describe('any other event', () => {
  it('is stored once when published twice within the duplicate window', async () => {
    const event = taskCancelled(token());
    const first = await publisherOf(taskboard).publish(event);
    expect(await publisherOf(taskboard).publish(event)).toEqual(first);
    expect(await stored(subjectFor('task.cancelled', 'acme', event.subject))).toBe(1);
  });

  it('is not taken for stored when its id was used on another subject', async () => {
    const event = taskCancelled('k4');
    await publisherOf(taskboard).publish(event);
    const other = { ...taskCancelled('k5'), id: event.id };
    await expect(publisherOf(taskboard).publish(other)).rejects.toBeInstanceOf(Unpublishable);
  });

  it('of another service is refused before it is sent', async () => {
    await expect(publisherOf(policy).publish(taskCancelled('k6'))).rejects.toBeInstanceOf(Unpublishable);
  });
});

describe('reading', () => {
  it('finds the latest of a subject and any sequence from the leader', async () => {
    const event = taskCancelled(token());
    const { seq } = await publisherOf(taskboard).publish(event);
    const reader = new StreamReader(engine);
    expect(await reader.last('task.cancelled', 'acme', event.subject)).toMatchObject({ seq, event });
    expect(await reader.bySeq(seq)).toMatchObject({ seq, event });
    expect(await reader.last('task.cancelled', 'acme', 'nobody')).toBeNull();
    expect(await reader.bySeq(1_000_000)).toBeNull();
  });

  it('refuses what carries the headers of the broker, from leader and replica', async () => {
    const event = policyDecided('k7');
    const forged = headers();
    forged.set('Nats-Subject', 'policy.decided.acme.k8');
    await policy.js.publish('policy.decided.acme.k7', JSON.stringify(event), { headers: forged });
    await expect(new StreamReader(engine).last('policy.decided', 'acme', 'k7')).rejects.toThrow('headers');
    await expect(new StreamReader(policy).last('policy.decided', 'acme', 'k7')).rejects.toThrow('headers');
  });

  it('says that it does not know, not that there is nothing, when it may not ask', async () => {
    const fault = await new StreamReader(policy).last('task.cancelled', 'acme', 'k4').catch((err) => err);
    expect(isInfrastructureFault(fault)).toBe(true);
  });
});

describe('waiting for a fact', () => {
  let waiter: FactWaiter;
  beforeAll(() => {
    waiter = opened.on(new FactWaiter(engine, new StreamReader(engine)), (w) => w.close());
  });

  it('inngest#1433: returns what is stored by the time or comes later, read back from the stream', async () => {
    const [early, late] = [policyDecided(newId()), policyDecided(newId())];
    await publisherOf(policy).publish(early);
    const both = Promise.all([early, late].map((e) => waiter.waitFor('policy.decided', 'acme', e.subject, 10_000)));
    const { seq } = await publisherOf(policy).publish(late);
    expect(await both).toMatchObject([{ event: early }, { event: late, seq }]);
  });

  it('is woken by the live message long before it would look again', async () => {
    const event = policyDecided(newId());
    const times: number[] = [];
    for (let round = 0; round < 10; round++) {
      const next = { ...event, subject: `${event.subject}${round}`, callid: `${event.subject}${round}` };
      const found = waiter.waitFor('policy.decided', 'acme', next.subject, 10_000);
      await publisherOf(policy).publish(next);
      const start = performance.now();
      expect(await found).toMatchObject({ event: next });
      times.push(performance.now() - start);
    }
    expect(times.sort((a, b) => a - b)[5]).toBeLessThan(100);
  });

  it('trigger.dev#4164: finds a fact without any live message', async () => {
    const event = taskCancelled(token());
    const found = waiter.waitFor('task.cancelled', 'acme', event.subject, 10_000);
    await publisherOf(taskboard).publish(event);
    expect(await found).toMatchObject({ event });
  });

  it('gives null when the time is up and rejects when told to stop', async () => {
    expect(await waiter.waitFor('policy.decided', 'acme', 'never', 60)).toBeNull();
    const stop = new AbortController();
    const waiting = waiter.waitFor('policy.decided', 'acme', 'never', 60_000, stop.signal);
    stop.abort(new Error('cancelled'));
    await expect(waiting).rejects.toThrow('cancelled');
  });
});

describe('when the server is gone', () => {
  it('what is under way fails as soon as the connection does', async () => {
    process.kill(server.pid, 'SIGSTOP');
    const fault = publisherOf(policy)
      .publish(policyDecided(newId()))
      .catch((err) => err);
    await server.kill9();
    const since = performance.now();
    expect(isInfrastructureFault(await fault)).toBe(true);
    expect(performance.now() - since).toBeLessThan(2_000);
    await bringBack(server, hub);
  });

  it('the publisher says so in bounded time and goes on by itself once it is back', async () => {
    const publisher: EventPublisher = publisherOf(policy);
    const event = policyDecided(newId());
    await server.kill9();
    const fault = await publisher.publish(event).catch((err) => err);
    expect(isInfrastructureFault(fault)).toBe(true);
    await bringBack(server, hub);
    const { seq } = await publisher.publish(event);
    expect(await new StreamReader(engine).bySeq(seq)).toMatchObject({ event });
  });
});
