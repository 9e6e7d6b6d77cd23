import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runView, taskView } from '@holdpoint/contracts';
import { type ProcessName, type Stack, startStack } from '@holdpoint/local';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Api, until } from '../../src/api.js';
import { holdpoint } from '../../src/holdpoint.js';

// Guarantee G7 on the whole system: each dependency frozen in turn, while agents propose writes that policy would allow.

// `npm test` samples: bus and database; `npm run test:deep` freezes each service too
const DEEP = Boolean(process.env['HOLDPOINT_DEEP']);
const RUNS = 5;
const FROZEN_MS = 4_000;

describe('G7, the system: fail closed', () => {
  let folder: string;
  let stack: Stack;
  let engine: Api;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdpoint-g7-'));
    const turns = [
      {
        text: 'I write.',
        calls: [{ tool: 'FileRW', arguments: '{"action":"write","path":"allowed.txt","content":"x"}' }],
      },
      { text: 'Done.' },
    ];
    await writeFile(join(folder, 'script.yaml'), JSON.stringify({ scripts: [{ when: 'write', turns }] }));
    await writeFile(
      join(folder, 'holdpoint.yaml'),
      JSON.stringify({
        agents: { writer: { space: 'acme', model: 'scripted', script: 'script.yaml', tools: ['FileRW'] } },
        policy: { rules: [{ tool: 'FileRW', action: 'write', verdict: 'auto' }] },
      }),
    );
    stack = await startStack({
      env: {
        HOLDPOINT_CONFIG: join(folder, 'holdpoint.yaml'),
        POLICY_RATE_LIMIT: '100000/1',
        VERDICT_TIMEOUT_MS: '2000',
        RUN_LOST_AFTER_MS: '3000',
        HOLDPOINT_ACK_WAIT_MS: '1000',
      },
    });
    engine = new Api({ url: stack.urls.engine, token: stack.people['ada'] ?? '' });
  }, 120_000);
  afterAll(async () => {
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const start = async () => {
    const { status, body } = await engine.ask('POST', '/v1/agents/writer/runs', { prompt: 'write' });
    return status === 202 ? (body as { id: string }).id : undefined;
  };
  const ended = (id: string) =>
    until('the end of a run', async () => {
      const run = await engine.get(`/v1/runs/${id}`, runView).catch(() => undefined);
      return run?.completedAt ? run : undefined;
    });
  /** How long a dependency stays frozen; a request may have no answer for as long. */
  const frozenFor = () => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), FROZEN_MS));
  const check = async () =>
    JSON.parse((await holdpoint(stack.home, 'ada', '--json', 'check')).stdout) as {
      violations: unknown[];
      counts: { executed: number; abandoned: number };
    };

  it('policy frozen: nobody is let through, and what runs by itself is not allowed anything', async () => {
    const board = new Api({ url: stack.urls.taskboard, token: stack.people['ada'] ?? '' });
    const dueAt = new Date(Date.now() + 4_000).toISOString();
    const tasks = await Promise.all(
      Array.from({ length: RUNS }, () => board.ask('POST', '/v1/tasks', { agent: 'writer', prompt: 'write', dueAt })),
    );
    const ids = tasks.map(({ body }) => (body as { id: string }).id);
    const pid = (await stack.pid('policy')) ?? 0;
    process.kill(pid, 'SIGSTOP');
    try {
      const refused = await engine.ask('POST', '/v1/agents/writer/runs', { prompt: 'write' });
      expect(refused).toMatchObject({ status: 503, body: { code: 'auth.memberships-unavailable' } });
      // Nobody could start them now: they fall due while policy is frozen, propose, and give up waiting for a verdict.
      await until(
        'the proposals to be given up',
        async () => (await check()).counts.abandoned >= RUNS || undefined,
        60_000,
      );
      expect(await readdir(stack.paths.workspace)).not.toContain('allowed.txt');
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await stack.ready();
    for (const id of ids)
      await until('the end of a task', async () => {
        const task = await board.get(`/v1/tasks/${id}`, taskView).catch(() => undefined);
        return task?.state === 'done' || undefined;
      });
    // The verdicts came after all, and too late.
    expect(await readdir(stack.paths.workspace)).not.toContain('allowed.txt');
    expect((await check()).violations).toEqual([]);
  }, 120_000);

  it('policy killed with proposals under way: nothing runs without a stored verdict, and all goes on by itself', async () => {
    const begun = (await Promise.all(Array.from({ length: RUNS }, start))).filter((id) => id !== undefined);
    expect(begun).toHaveLength(RUNS);
    process.kill((await stack.pid('policy')) ?? 0, 'SIGKILL');
    await Promise.all(begun.map(ended));
    await stack.ready();
    const again = await until('a run that goes through', async () => (await start()) as string);
    expect((await ended(again)).state).toBe('ok');
    const { violations, counts } = await check();
    expect(violations).toEqual([]);
    expect(counts.executed).toBeGreaterThan(0);
    await rm(join(stack.paths.workspace, 'allowed.txt'), { force: true });
  }, 120_000);

  it.each<ProcessName>(DEEP ? ['staging', 'taskboard', 'audit', 'nats', 'postgres'] : ['nats', 'postgres'])(
    '%s frozen: nothing runs without a stored verdict, and all goes on by itself afterwards',
    async (name) => {
      const frozen = await withChildren((await stack.pid(name)) ?? 0);
      for (const pid of frozen) process.kill(pid, 'SIGSTOP');
      const thaw = frozenFor();
      const runs: string[] = [];
      try {
        const begun = await Promise.all(Array.from({ length: RUNS }, () => Promise.race([start(), frozenFor()])));
        runs.push(...begun.filter((id) => id !== undefined));
        await thaw;
      } finally {
        for (const pid of frozen) process.kill(pid, 'SIGCONT');
      }
      await stack.ready();
      await Promise.all(runs.map(ended));
      const again = await until('a run that goes through', async () => (await start()) as string);
      expect((await ended(again)).state).toBe('ok');
      expect((await check()).violations).toEqual([]);
      await rm(join(stack.paths.workspace, 'allowed.txt'), { force: true });
    },
    120_000,
  );
});
/** A server's own processes too: the postmaster alone holds nobody up. */
async function withChildren(pid: number): Promise<number[]> {
  const tasks = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return [pid, ...tasks.split(' ').filter(Boolean).map(Number)];
}
