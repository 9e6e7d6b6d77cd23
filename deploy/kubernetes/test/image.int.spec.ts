import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import {
  databaseUrl,
  type EmbeddedPostgres,
  freePort,
  natsBinary,
  renderBusConfig,
  type ServerProcess,
  startPostgres,
  startServer,
  withClient,
} from '@holdpoint/provision';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { validate } from 'dockerfile-utils';
import {
  type Container,
  environmentOf,
  filesOf,
  type Manifest,
  makeSecrets,
  type PodSpec,
  pods,
  ROOT,
  renderBase,
  TOOLS,
} from './manifests.js';

const run = promisify(execFile);
let dir: string;
let image: string;
let postgres: EmbeddedPostgres;
let nats: ServerProcess;
let natsUrl: string;
let all: Manifest[];
const children: ChildProcess[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-'));
  await chmod(dir, 0o711);
  image = join(dir, 'app');
  await run(process.execPath, [join(ROOT, 'tools/image.mjs'), image]);
  postgres = await startPostgres({ dir: join(dir, 'data'), password: 'secret', durable: false });
  await withClient(postgres.url, async (client) => {
    await client.query("CREATE ROLE chief LOGIN CREATEROLE PASSWORD 'of chief'");
    await client.query('CREATE DATABASE given OWNER chief');
  });
  const admin = databaseUrl(postgres.url, 'given', { role: 'chief', password: 'of chief' });
  all = [...renderBase(), ...makeSecrets(join(dir, 'secrets'), admin, image), TOOLS];
  await startBus();
}, 180_000);
afterAll(async () => {
  for (const child of children) {
    const ended = once(child, 'exit');
    if (child.kill('SIGTERM')) await ended;
  }
  await nats?.stop('SIGINT', 10_000);
  await postgres?.stop();
  await rm(dir, { recursive: true, force: true });
}, 60_000);

/** One server with the accounts of the three. */
async function startBus(): Promise<void> {
  const port = await freePort();
  const { bus: passwords } = JSON.parse(await readFile(join(dir, 'secrets/secrets.json'), 'utf8'));
  const config = join(dir, 'nats.conf');
  await writeFile(config, renderBusConfig({ passwords, storeDir: join(dir, 'nats'), port, syncAlways: false }));
  const logFile = join(dir, 'nats.log');
  const ready = async () => /Server is ready/.test(await readFile(logFile, 'utf8')) || undefined;
  const { server } = await startServer({
    command: natsBinary(),
    args: ['-c', config],
    logFile,
    timeoutMs: 20_000,
    ready,
  });
  nats = server;
  natsUrl = `nats://127.0.0.1:${port}`;
}

/** What a container is started with, its mounts below a folder here. */
async function prepared(name: string, own: Record<string, string>) {
  const { spec } = pods(all).find((p) => p.name === name) as { spec: PodSpec };
  const container = spec.containers[0] as Container;
  const at = (path: string) => join(dir, name, path);
  for (const [path, text] of Object.entries(filesOf(container, spec, all))) {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), text, { mode: 0o600 });
  }
  const env: Record<string, string> = {};
  for (const [key, value] of Object.entries(environmentOf(container, all)))
    env[key] = value.startsWith('/') ? at(value) : value;
  if (env['FILERW_ROOT']) await mkdir(env['FILERW_ROOT'], { recursive: true });
  Object.assign(env, { NATS_URL: natsUrl, ...own });
  return { container, args: container.args ?? [], env };
}

test('the Dockerfile is sound, fills the image by the program that is tested here, and its process is not root', async () => {
  const text = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  expect(validate(text)).toEqual([]);
  expect(validate(text.replace('WORKDIR /src', 'WORKDIRS /src'))).not.toEqual([]);
  expect(text).toMatch(/^RUN .* && node tools\/image\.mjs \/app$/m);
  expect(text.slice(text.lastIndexOf('\nFROM'))).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
});

test('the provisioner makes everything once, says so, and changes nothing when it runs again', async () => {
  const { args, env } = await prepared('holdpoint-provision', { STREAM_REPLICAS: '1' });
  const first = await run(process.execPath, args, { cwd: image, env });
  expect(first.stdout).toMatch(/applied agent-engine\/0001[\s\S]*stream: one copy .*\nprovisioned\n$/);
  expect(first.stdout).not.toContain('of chief');
  const again = await run(process.execPath, args, { cwd: image, env });
  expect(again.stdout).toContain('no migration was missing');
}, 60_000);

test('the provisioner waits for what is not there yet, with a bound, and says what is missing', async () => {
  const own = { STREAM_REPLICAS: '1', PROVISION_WAIT_SECONDS: '1' };
  const { args, env } = await prepared('holdpoint-provision', own);
  const away = { ...env, DATABASE_URL: `postgres://chief:secret@127.0.0.1:${await freePort()}/given` };
  const without = { ...env, NATS_URL: `nats://127.0.0.1:${await freePort()}` };
  const failure = (environment: Record<string, string>) =>
    run(process.execPath, args, { cwd: image, env: environment }).then(
      () => '',
      (err: { stderr: string }) => err.stderr,
    );
  expect(await failure(away)).toMatch(/^cannot provision: the database of DATABASE_URL is not reachable/);
  expect(await failure({ ...env, DATABASE_URL: env['DATABASE_URL']?.replace('of%20chief', 'wrong') ?? '' })).toMatch(
    /^cannot provision: the database of DATABASE_URL refuses us/,
  );
  expect(await failure(without)).toMatch(/^cannot provision: nats:\S+ is not reachable/);
}, 60_000);

async function runs(name: string, port: number, policyUrl: string): Promise<void> {
  const own = {
    HOST: '127.0.0.1',
    PORT: String(port),
    ...(name === 'holdpoint-policy' ? {} : { POLICY_URL: policyUrl }),
  };
  const { container, args, env } = await prepared(name, own);
  const child = spawn(process.execPath, args, { cwd: image, env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let said = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ok = (path = '') =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      (r) => r.ok,
      () => false,
    );
  const up = eventually(() => ok(container.readinessProbe?.httpGet.path), {
    timeoutMs: 120_000,
    what: `a ready ${name}`,
  });
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${name} ended: ${said}`)));
  ended.catch(() => {});
  await Promise.race([up, ended]);
  expect([name, await ok(container.livenessProbe?.httpGet.path)]).toEqual([name, true]);
}

test('each service of the image runs as its Deployment says, and answers the probes', async () => {
  const ports = new Map<string, number>();
  for (const { name } of pods(all).filter((p) => p.kind === 'Deployment')) ports.set(name, await freePort());
  const policyUrl = `http://127.0.0.1:${ports.get('holdpoint-policy')}`;
  await Promise.all([...ports].map(([name, port]) => runs(name, port, policyUrl)));
}, 180_000);
