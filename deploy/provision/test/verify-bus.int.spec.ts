import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import {
  BUS_USERS,
  type BusConfig,
  type BusUser,
  freePort,
  natsBinary,
  provisionBus,
  renderBusConfig,
  type ServerProcess,
  startServer,
  verifyBus,
  verifyImports,
} from '../src/index.js';

const passwords = Object.fromEntries(BUS_USERS.map((u) => [u, randomBytes(12).toString('hex')])) as Record<
  BusUser,
  string
>;
const consumers = [{ name: 'mine', subjects: ['tool.executed.>'], password: randomBytes(12).toString('hex') }];
let dir: string;
let running: ServerProcess[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nats-'));
});
afterEach(async () => {
  await Promise.all(running.map((server) => server.stop('SIGKILL', 0)));
  running = [];
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** A server on a configuration of our text; whether it is up is told by its monitoring page. */
async function start(name: string, config: (base: BusConfig) => string): Promise<string> {
  const [port, monitorPort] = [await freePort(), await freePort()];
  const home = join(dir, name);
  await mkdir(home);
  const base = { passwords, consumers, storeDir: home, port, monitorPort, syncAlways: false };
  await writeFile(join(home, 'nats.conf'), config(base), { mode: 0o600 });
  const { server } = await startServer({
    command: natsBinary(),
    args: ['-c', join(home, 'nats.conf'), '--name', name],
    logFile: join(home, 'nats.log'),
    timeoutMs: 20_000,
    ready: async () =>
      (await fetch(`http://127.0.0.1:${monitorPort}/varz`).then(
        (r) => r.ok,
        () => false,
      )) || undefined,
  });
  running.push(server);
  return `nats://127.0.0.1:${port}`;
}
const verify = (servers: string, waitMs = 0) => verifyBus({ servers, passwords, consumers, waitMs });
/** The rendered configuration, changed. */
const changed = (change: (config: Record<string, Record<string, object>>) => void) => (base: BusConfig) => {
  const config = JSON.parse(renderBusConfig(base));
  change(config);
  return JSON.stringify(config);
};

test('a server on the rendered configuration is taken, and everybody reaches the stream', async () => {
  const servers = await start('whole', renderBusConfig);
  expect(await verify(servers)).toMatch(/^\d+\.\d+/);
  await expect(verifyImports({ servers, passwords })).rejects.toThrow('cannot reach the stream');
  await provisionBus({ servers, password: passwords.hub, consumers });
  await verifyImports({ servers, passwords });
});

test('nobody there: said with what to do', async () => {
  const servers = `nats://127.0.0.1:${await freePort()}`;
  await expect(verify(servers)).rejects.toThrow(`${servers} is not reachable`);
});

test('a server that takes everybody, other passwords, and a lacking account are refused', async () => {
  const open = await start('open', ({ port, monitorPort, storeDir }) =>
    JSON.stringify({ port, http_port: monitorPort, jetstream: { store_dir: storeDir } }),
  );
  await expect(verify(open)).rejects.toThrow('lets in whoever asks');
  const lacking = await start(
    'lacking',
    changed(({ accounts }) => {
      (accounts?.['POLICY'] as { users: object[] }).users = [];
      (accounts?.['FOREIGN_MINE'] as { users: object[] }).users = [];
    }),
  );
  await expect(verify(lacking)).rejects.toThrow('refuses policy, foreign_mine: its accounts are missing');
  const others = { ...passwords, hub: 'another one' };
  await expect(verifyBus({ servers: lacking, passwords: others, waitMs: 0 })).rejects.toThrow('refuses hub');
});

test('a server without JetStream is refused', async () => {
  const servers = await start(
    'core',
    changed((config) => {
      delete config['jetstream'];
      delete (config['accounts'] as { HUB: { jetstream?: string } }).HUB.jetstream;
    }),
  );
  await expect(verify(servers)).rejects.toThrow('JetStream is off');
});

// four servers: in `npm run test:deep`
if (process.env['HOLDPOINT_DEEP'])
  test('three servers are one bus: each message is kept by all, and whoever lacks the password of servers stays out', async () => {
    const names = ['a', 'b', 'c', 'stranger'];
    const routes = await Promise.all(names.map(async () => ({ host: '127.0.0.1', port: await freePort() })));
    const known = routes.slice(0, 3);
    const node = (n: number, password = passwords.hub) =>
      start(names[n] as string, (base) =>
        renderBusConfig({ ...base, cluster: { port: routes[n]?.port as number, password, routes: known } }),
      );
    const [servers = ''] = await Promise.all([node(0), node(1), node(2)]);
    await verify(servers, 20_000);
    await provisionBus({ servers, password: passwords.hub, replicas: 3, consumers });
    await verifyImports({ servers, passwords });
    const nc = await connect({ servers, user: 'checker', pass: passwords.checker });
    const answer = await nc.request('hub.API.STREAM.INFO.HOLDPOINT', undefined, { timeout: 5_000 });
    const { config, cluster } = answer.json<{ config: { num_replicas: number }; cluster: { replicas: object[] } }>();
    expect(config.num_replicas).toBe(3);
    expect(cluster.replicas).toHaveLength(2);
    await nc.close();

    const stranger = await start('stranger', (base) =>
      renderBusConfig({ ...base, cluster: { port: routes[3]?.port as number, password: 'guessed', routes: known } }),
    );
    await expect(verify(stranger, 1_500)).rejects.toThrow('JetStream is not ready');
  }, 90_000);
