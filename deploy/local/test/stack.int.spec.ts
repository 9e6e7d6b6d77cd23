import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { databaseUrl, withClient } from '@holdpoint/provision';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ProcessName, type Stack, startStack } from '../src/index.js';
import { program } from '../src/repository.js';

let home: string;
let stack: Stack;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'holdpoint-'));
  await chmod(home, 0o711);
  stack = await startStack({ home });
}, 120_000);
afterAll(async () => {
  await stack?.stop();
  await rm(home, { recursive: true, force: true });
}, 60_000);

const anew = (name: ProcessName, old: number | undefined) =>
  eventually(
    async () => {
      const pid = await stack.pid(name);
      return pid !== old && pid;
    },
    { timeoutMs: 30_000, what: `a new ${name}` },
  );

test('everything is its own process, and says where it is', async () => {
  const names: ProcessName[] = [
    'agent-engine',
    'policy',
    'staging',
    'taskboard',
    'audit',
    'postgres',
    'nats',
    'smtp',
    'issuer',
  ];
  const pids = await Promise.all(names.map((name) => stack.pid(name)));
  expect(new Set(pids).size).toBe(names.length);
  expect(pids).not.toContain(undefined);
  expect(stack.output()).toMatch(/^ready in [\d.]+ s/m);
  for (const url of Object.values(stack.urls)) expect(stack.output()).toContain(url);
  for (const secret of [...Object.values(stack.people), stack.nats.pass]) expect(stack.output()).not.toContain(secret);
  for (const file of [
    stack.paths.client,
    stack.paths.identities,
    stack.paths.secrets,
    stack.paths.masterKey,
    stack.paths.issuerKey,
  ])
    expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test('the database of the demonstration is filled, and its logins do what they are for and no more', async () => {
  const url = /postgres:\/\/127\.0\.0\.1:\d+\/demo/.exec(stack.output())?.[0] ?? '';
  const { demo } = JSON.parse(await readFile(stack.paths.secrets, 'utf8')) as { demo: Record<string, string> };
  const as = (role: string, statement: string, database = 'demo') =>
    withClient(
      databaseUrl(url, database, { role, password: demo[role] ?? '' }),
      async (client) => (await client.query(statement)).rows,
    );
  expect(await as('demo_reader', "SELECT amount, payment_reference FROM invoices WHERE number = '2024-117'")).toEqual([
    { amount: '1480.00', payment_reference: '9007199254740993' },
  ]);
  await expect(as('demo_reader', 'DELETE FROM invoices')).rejects.toThrow('permission denied');
  await expect(as('demo_writer', 'DELETE FROM holdpoint.ledger')).rejects.toThrow('permission denied');
  await expect(as('demo_writer', 'CREATE TABLE mine ()')).rejects.toThrow('permission denied');
  for (const role of ['demo_reader', 'demo_writer'])
    await expect(as(role, 'SELECT 1', 'holdpoint')).rejects.toThrow('permission denied for database');
});

test('each service tells its metrics', async () => {
  const eventing = ['consumer_lag', 'consumer_pending', 'outbox_unsent', 'outbox_age_seconds', 'dead_letters'];
  const expected = {
    engine: [...eventing, 'runs', 'executions'],
    policy: [...eventing, 'policy_decisions_total'],
    staging: [...eventing, 'approvals_pending', 'approvals_oldest_pending_age_seconds'],
    taskboard: [...eventing, 'tasks'],
    audit: ['audit_lag'],
  };
  for (const [service, names] of Object.entries(expected)) {
    const text = await (await fetch(`${stack.urls[service as keyof typeof expected]}/metrics`)).text();
    for (const name of names) expect(text).toContain(`# TYPE holdpoint_${name} `);
  }
  const staging = await (await fetch(`${stack.urls.staging}/metrics`)).text();
  expect(staging).toMatch(/^holdpoint_approvals_pending 0$/m);
  expect(staging).toMatch(/^holdpoint_approvals_oldest_pending_age_seconds 0$/m);
});

test('a second start on the same folder is refused', () => {
  const second = spawnSync(process.execPath, [program('main.js')], {
    env: { ...process.env, HOLDPOINT_HOME: home },
    encoding: 'utf8',
  });
  expect(second.status).toBe(1);
  expect(second.stderr).toContain('already runs on this folder');
});

test('whatever is killed comes back, and the services are ready again', async () => {
  for (const name of ['staging', 'postgres', 'postgres-guard', 'nats', 'nats-guard', 'smtp'] as const) {
    const old = await stack.pid(name);
    await stack.kill9(name);
    await anew(name, old);
    await eventually(() => stack.pid('postgres'), { timeoutMs: 30_000 });
    await eventually(() => stack.pid('nats'), { timeoutMs: 30_000 });
  }
  await stack.ready();
  expect(stack.output()).toContain('staging ended (SIGKILL); starting it again');
}, 120_000);

test('a start after kill -9 of the supervisor and both guards ends what is left and recovers', async () => {
  const left = [await stack.pid('postgres'), await stack.pid('nats')];
  for (const name of ['postgres-guard', 'nats-guard', 'supervisor'] as const)
    process.kill((await stack.pid(name)) as number, 'SIGKILL');
  stack = await startStack({ home });
  expect(stack.output()).toMatch(/ended what an earlier start had left running:.*(postgres|nats)/);
  for (const name of ['postgres', 'nats'] as const) expect(left).not.toContain(await stack.pid(name));
}, 120_000);

test('a stop leaves no process behind', async () => {
  const names: ProcessName[] = [
    'agent-engine',
    'postgres',
    'postgres-guard',
    'nats',
    'nats-guard',
    'smtp',
    'supervisor',
  ];
  await stack.stop();
  for (const name of names) expect(await stack.pid(name)).toBeUndefined();
}, 60_000);
