import type { ProcessName } from '@holdpoint/local';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { until } from '../../src/api.js';
import { type Facts, System } from './system.js';

// Guarantee G1 on the whole system: services, relays, bus and database are killed without warning, in random order, under
// load. The mechanism's mutants are in libs/eventing/test/g1-no-fact-is-lost.
const KILLS = process.env['HOLDPOINT_DEEP'] ? 100 : 5;
const SEED = Number(process.env['HOLDPOINT_SEED'] ?? 1);
const TARGETS = ['agent-engine', 'policy', 'staging', 'taskboard', 'audit', 'nats', 'postgres', 'relay'] as const;

let system: System;
beforeAll(async () => {
  system = await System.start();
}, 120_000);
afterAll(() => system?.stop(), 60_000);

/** Every fact that rows promise is in the stream where its row says, the stream holds no other, and the log is the stream. */
function holds(facts: Facts, acknowledged: System['acknowledged']): void {
  expect(facts.audit).toEqual(facts.stream);
  const stored = new Set(facts.stream);
  expect(facts.outboxes.filter((row) => !stored.has(row))).toEqual([]);
  const there = new Set(facts.stream.map((m) => m.split(' ')[1] ?? ''));
  const spoken = (fact: string) => there.has(fact.replace(' ', '.acme.'));
  expect(facts.promised.filter((fact) => !spoken(fact))).toEqual([]);
  expect(acknowledged.runs.filter((id) => !spoken(`run.queued ${id}`))).toEqual([]);
  expect(acknowledged.approvals.filter((id) => !spoken(`approval.decided ${id}`))).toEqual([]);
}

describe(`G1, seed ${SEED}`, () => {
  it(`${KILLS} kills under load: rows = stream = audit, and everything comes to its end`, async () => {
    system.load(3);
    const next = random(SEED);
    let order: (typeof TARGETS)[number][] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      if (order.length === 0) order = shuffled(TARGETS, next);
      const target = order.pop() as (typeof TARGETS)[number];
      const before = system.acknowledged.runs.length;
      if (target === 'relay')
        await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '% relay'`
          .execute(system.superuser)
          .catch(() => undefined);
      else await killOnceUp(target);
      // Load goes on between two kills, but nobody waits until all is well again.
      await until('the load to go on', async () => system.acknowledged.runs.length > before || undefined, 60_000);
    }
    await system.stack.ready();
    await system.calm();
    let check = '';
    await until(
      'everything to end',
      async () => {
        const open = await system.decideAll();
        check = `${open} calls are open`;
        if (open > 0) return undefined;
        const said = await system.check();
        check = said.stdout + said.stderr;
        return said.code === 0 || undefined;
      },
      120_000,
    ).catch((err: Error) => {
      throw new Error(`${err.message}; the check says:\n${check.slice(0, 5_000)}`);
    });
    await until('the log', async () => {
      const { body } = await system.api('audit').ask('GET', '/v1/audit/position');
      return (body as { lag: number }).lag === 0 || undefined;
    });
    const facts = await system.facts();
    expect(system.acknowledged.runs.length).toBeGreaterThan(KILLS);
    expect(system.acknowledged.approvals.length).toBeGreaterThan(0);
    expect(facts.deadLetters).toBe(0);
    holds(facts, system.acknowledged);

    // What the comparison is worth: it sees one fact missing, anywhere.
    const newest = facts.stream.at(-1);
    expect(() => holds({ ...facts, audit: facts.audit.slice(1) }, system.acknowledged)).toThrow();
    const without = facts.stream.filter((m) => m !== facts.outboxes[0] && m !== newest);
    expect(() => holds({ ...facts, stream: without, audit: without }, system.acknowledged)).toThrow();
    const [run] = system.acknowledged.runs;
    const mute = facts.stream.filter((m) => !m.includes(`run.queued.acme.${run} `));
    const none = { ...facts, outboxes: [], promised: [] };
    expect(() => holds({ ...none, stream: mute, audit: mute }, system.acknowledged)).toThrow();
  }, 3_600_000);
});

const killOnceUp = (name: ProcessName): Promise<unknown> =>
  until(
    `${name}, to kill it`,
    async () =>
      system.stack.kill9(name).then(
        () => true,
        () => undefined,
      ),
    60_000,
  );

/** Deterministic from its seed (mulberry32). */
function random(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const shuffled = <T>(items: readonly T[], next: () => number): T[] =>
  items
    .map((item) => ({ item, at: next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
