import { readdir, readFile } from 'node:fs/promises';
import { page, taskView } from '@holdpoint/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../../src/api.js';
import { System } from './system.js';

// Guarantee G12 on the whole system: bus and database are frozen with everything they consist of, under load; runs and
// approvals go on within 15 s, and nothing is dead-lettered. Single connections, and the mutant: libs/eventing/test/g12.
const FROZEN_MS = 10_000;

let system: System;
beforeAll(async () => {
  system = await System.start();
}, 120_000);
afterAll(() => system?.stop(), 60_000);

describe('G12', () => {
  it.each(['nats', 'postgres'] as const)(
    '%s frozen for 10 s: a whole chain is done within 15 s of its return',
    async (name) => {
      await aWholeChain(30_000);
      const pids = await family((await system.stack.pid(name)) as number);
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      const asked = system
        .api('engine')
        .ask('POST', '/v1/agents/mailer/runs', { prompt: 'send' })
        .catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, FROZEN_MS));
      for (const pid of pids) process.kill(pid, 'SIGCONT');
      await aWholeChain(15_000);
      await asked;
      expect((await system.facts()).deadLetters).toBe(0);
    },
    120_000,
  );
});

/** A run that begins now, its call held, approved and executed, and its agent woken. */
async function aWholeChain(withinMs: number): Promise<void> {
  const end = performance.now() + withinMs;
  const left = () => Math.max(0, end - performance.now());
  const run = await until(
    'a run to be taken',
    async () => {
      const { status, body } = await system.api('engine').ask('POST', '/v1/agents/mailer/runs', { prompt: 'send' });
      return status === 202 ? (body as { conversationId: string }) : undefined;
    },
    left(),
  );
  await until(
    'the wake-up',
    async () => {
      await system.decideAll();
      const path = `/v1/tasks?state=done&conversation=${run.conversationId}`;
      const { items } = await system
        .api('taskboard')
        .get(path, page(taskView))
        .catch(() => ({ items: [] }));
      return items.length > 0 || undefined;
    },
    left(),
  );
}

/** A process and all its descendants: a frozen postmaster alone would leave its backends at work. */
async function family(root: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const members = [root];
  for (const member of members)
    members.push(...[...parents].flatMap(([pid, parent]) => (parent === member ? [pid] : [])));
  return members;
}
