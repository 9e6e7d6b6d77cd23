import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@holdpoint/testing';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';

interface Running {
  child: ChildProcess;
  url: string;
  out(): string;
  err(): string;
  told(message: string): Promise<unknown>;
  exit: Promise<number | null>;
}

let dir: string;
const children: ChildProcess[] = [];
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdpoint-process-'));
  writeFileSync(join(dir, 'identities.json'), JSON.stringify({ people: [], services: [] }), { mode: 0o600 });
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  }
});
afterAll(() => rmSync(dir, { recursive: true }));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function run(env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const port = env['PORT'] ?? String(await freePort());
  const child = fork(join(import.meta.dirname, 'fixtures/service.mjs'), {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [],
    env: {
      PATH: process.env['PATH'],
      PORT: port,
      HOLDPOINT_IDENTITY_FILE: join(dir, 'identities.json'),
      HOLDPOINT_SERVICE_TOKEN: 'the-token-of-the-service',
      ...env,
    },
  });
  children.push(child);
  const text = { out: '', err: '' };
  const heard: unknown[] = [];
  child.stdout?.on('data', (d) => {
    text.out += d;
  });
  child.stderr?.on('data', (d) => {
    text.err += d;
  });
  child.on('message', (m) => heard.push(m));
  return {
    child,
    url: `http://127.0.0.1:${port}`,
    out: () => text.out,
    err: () => text.err,
    told: (message) => eventually(() => heard.includes(message), { what: `"${message}" (${text.out}${text.err})` }),
    exit: new Promise((resolve) => child.once('close', resolve)),
  };
}

const lines = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test('SIGTERM, twice and with SIGINT: what is in hand is finished, then it ends with 0', async () => {
  const service = await run();
  await service.told('ready');
  const answer = fetch(`${service.url}/work/slow`);
  await service.told('in hand');
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) service.child.kill(signal);
  await eventually(() => service.out().includes('stopping: SIG'));
  // The port is closed to newcomers while the one in hand goes on.
  await eventually(() =>
    fetch(`${service.url}/healthz`, { headers: { connection: 'close' } }).then(
      () => false,
      () => true,
    ),
  );
  service.child.send('release');
  expect(await (await answer).json()).toEqual({ done: true });
  expect(await service.exit).toBe(0);
  expect(lines(service.out()).filter((l) => String(l['message']).startsWith('stopping'))).toHaveLength(1);
  expect(service.err()).toBe('');
});

test('what does not end in time is cut off with 1', async () => {
  const service = await run({ DRAIN_MS: '300' });
  await service.told('ready');
  fetch(`${service.url}/work/slow`).catch(() => {});
  await service.told('in hand');
  service.child.kill('SIGTERM');
  expect(await service.exit).toBe(1);
  expect(lines(service.out()).at(-1)).toMatchObject({ level: 'fatal', service: 'work' });
});

test('the end of the supervisor drains it, although nobody reads its log any more', async () => {
  const service = await run();
  await service.told('ready');
  const answer = fetch(`${service.url}/work/slow`);
  await service.told('in hand');
  service.child.stdout?.destroy();
  service.child.send('release');
  expect((await answer).status).toBe(200);
  const exit = once(service.child, 'exit');
  service.child.disconnect();
  expect(await exit).toEqual([0, null]);
});

test('a dependency that is down is waited for: alive, not ready, then ready', async () => {
  const service = await run({ DEPENDENCY: 'down' });
  await eventually(() => service.out().includes('a dependency is down'));
  const status = (path: string) =>
    fetch(`${service.url}${path}`).then(
      (r) => r.status,
      () => 0,
    );
  await eventually(async () => (await status('/healthz')) === 200);
  const ready = await eventually(() => fetch(`${service.url}/readyz`).catch(() => null));
  expect(ready.status).toBe(503);
  expect(ready.headers.get('content-type')).toContain('application/problem+json');
  service.child.send('up');
  await service.told('ready');
  expect(await status('/readyz')).toBe(200);
  expect(lines(service.out()).every((l) => ['info', 'warn'].includes(String(l['level'])))).toBe(true);
});

test('SIGTERM while it waits for a dependency ends it with 0', async () => {
  const service = await run({ DEPENDENCY: 'down' });
  await eventually(() => service.out().includes('a dependency is down'));
  service.child.kill('SIGTERM');
  expect(await service.exit).toBe(0);
});

test('a port in use: one line that says so, and 1', async () => {
  const first = await run();
  await first.told('ready');
  const second = await run({ PORT: new URL(first.url).port });
  expect(await second.exit).toBe(1);
  const said = lines(second.out());
  expect(said).toHaveLength(1);
  expect(said[0]).toMatchObject({ level: 'fatal', message: expect.stringContaining('is in use') });
  expect(second.err()).toBe('');
});

test('a bug at start is no reason to wait: one line, and 1', async () => {
  const service = await run({ DEPENDENCY: 'broken' });
  expect(await service.exit).toBe(1);
  const said = lines(service.out());
  expect(said).toHaveLength(1);
  expect(said[0]).toMatchObject({ level: 'fatal', error: { message: 'a bug in the wiring' } });
});

test('a rejection that nobody caught is logged and ends it with 1', async () => {
  const service = await run();
  await service.told('ready');
  fetch(`${service.url}/work/stray`).catch(() => {});
  expect(await service.exit).toBe(1);
  expect(lines(service.out()).at(-1)).toMatchObject({ level: 'fatal', error: { message: 'stray' } });
});

test('a wrong environment: one line that names every variable and shows no value, and 78', async () => {
  const service = await run({ PORT: '70000', HOLDPOINT_SERVICE_TOKEN: 'short-secret' });
  expect(await service.exit).toBe(78);
  const said = lines(service.out());
  expect(said).toHaveLength(1);
  expect(said[0]).toMatchObject({ level: 'fatal', service: 'work' });
  expect(said[0]).not.toHaveProperty('error');
  expect(said[0]?.['message']).toMatch(
    /PORT is not valid: it must be a port number .*; HOLDPOINT_SERVICE_TOKEN is not/,
  );
  expect(service.out()).not.toMatch(/short-secret|70000/);
  expect(service.err()).toBe('');
});
