import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  databaseUrl,
  type EmbeddedPostgres,
  freePort,
  natsBinary,
  type ServerProcess,
  startPostgres,
  startServer,
  withClient,
} from '@holdpoint/provision';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Stack, startStack } from '../src/index.js';

let dir: string;
let postgres: EmbeddedPostgres;
let nats: ServerProcess | undefined;
let stack: Stack | undefined;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-'));
  await chmod(dir, 0o711);
  postgres = await startPostgres({ dir: join(dir, 'data'), password: 'secret', durable: false });
  await withClient(postgres.url, async (client) => {
    await client.query("CREATE ROLE chief LOGIN CREATEROLE CREATEDB PASSWORD 'of chief'");
    await client.query('CREATE DATABASE given OWNER chief');
  });
}, 60_000);
afterAll(async () => {
  await stack?.stop();
  await nats?.stop('SIGINT', 10_000);
  await postgres?.stop();
  await rm(dir, { recursive: true, force: true });
}, 60_000);

test('the system runs on a bus and a database of the operator, with the bus started as the start says', async () => {
  const port = await freePort();
  const home = join(dir, 'home');
  const starting = startStack({
    home,
    env: {
      NATS_URL: `nats://127.0.0.1:${port}`,
      DATABASE_URL: databaseUrl(postgres.url, 'given', { role: 'chief', password: 'of chief' }),
    },
  });
  const config = join(home, 'nats-server.conf');
  const written = eventually(() => readFile(config, 'utf8').catch(() => undefined), { timeoutMs: 60_000 });
  await Promise.race([written, starting]);
  const { server } = await startServer({
    command: natsBinary(),
    args: ['-c', config],
    logFile: join(dir, 'nats.log'),
    timeoutMs: 20_000,
    ready: async () => /Server is ready/.test(await readFile(join(dir, 'nats.log'), 'utf8')) || undefined,
  });
  nats = server;
  stack = await starting;
  expect(stack.output()).toContain(`nats-server -c ${config}`);
  expect(stack.nats.url).toBe(`nats://127.0.0.1:${port}`);
  expect(await stack.pid('nats')).toBeUndefined();
  expect(await stack.pid('postgres')).toBeUndefined();
  await stack.ready();
}, 120_000);

test('a bus that is not there ends the start, with what to do', async () => {
  const env = { NATS_URL: `nats://127.0.0.1:${await freePort()}`, HOLDPOINT_NATS_WAIT_MS: '0' };
  await expect(startStack({ env })).rejects.toThrow(
    /Holdpoint cannot start: nats:\S+ is not reachable .*start the server/,
  );
}, 60_000);
