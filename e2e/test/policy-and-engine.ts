import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus, EventPublisher, StreamReader } from '@holdpoint/eventing';
import { freePort } from '@holdpoint/provision';
import { openDatabase, sha256Hex } from '@holdpoint/runtime';
import { eventually, startBus, testDatabase } from '@holdpoint/testing';
import { Api } from '../src/api.js';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Policy and an engine, each in a process of its own as it is built, over a bus and a database of their own. Ada is the one
 * person; the test plays staging. `files` go beside holdpoint.yaml, which is one of them.
 */
export async function startPolicyAndEngine(files: Record<string, string>) {
  const [bus, database, home] = await Promise.all([
    startBus(),
    testDatabase(),
    mkdtemp(join(tmpdir(), 'holdpoint-two-')),
  ]);
  const workspace = join(home, 'workspace');
  await mkdir(workspace);
  const file = async (name: string, text: string) => {
    await writeFile(join(home, name), text, { mode: 0o600 });
    return join(home, name);
  };
  for (const [name, text] of Object.entries(files)) await file(name, text);
  const [person, policyToken, engineToken] = [1, 2, 3].map(() => randomBytes(16).toString('hex')) as [
    string,
    string,
    string,
  ];
  const [policyPort, enginePort] = [await freePort(), await freePort()];
  const policyUrl = `http://127.0.0.1:${policyPort}`;
  const shared = {
    NATS_URL: bus.url,
    LOG_LEVEL: 'error',
    HOLDPOINT_CONFIG: join(home, 'holdpoint.yaml'),
    HOLDPOINT_MASTER_KEY_FILE: await file('master.key', randomBytes(32).toString('base64')),
    HOLDPOINT_IDENTITY_FILE: await file(
      'identity.json',
      JSON.stringify({
        people: [{ id: 'ada', name: 'Ada', spaces: { acme: 'owner' }, tokenSha256: sha256Hex(person) }],
        services: [
          { id: 'policy', tokenSha256: sha256Hex(policyToken) },
          { id: 'agent-engine', tokenSha256: sha256Hex(engineToken) },
        ],
      }),
    ),
  };
  const account = (service: 'policy' | 'agent-engine', port: number, token: string) => ({
    ...shared,
    DATABASE_URL: database.url(service),
    NATS_USER: bus.credentials(service).user,
    NATS_PASSWORD: bus.credentials(service).pass,
    PORT: String(port),
    HOLDPOINT_SERVICE_TOKEN: token,
  });
  const policy = serve('policy', {
    ...account('policy', policyPort, policyToken),
    DECISIONS_DATABASE_URL: database.url('policy-reader'),
    SPACE_CREATORS: 'ada',
    POLICY_RATE_LIMIT: '100000/1',
  });
  const engine = serve('agent-engine', {
    ...account('agent-engine', enginePort, engineToken),
    POLICY_URL: policyUrl,
    FILERW_ROOT: workspace,
    MAIL_SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'agent@example.test',
    MAIL_MAILDIR: home,
    MAX_RUNNING: '200',
    // claims wait for a lock together; whoever waits for a connection gives up after 5 s, and its run is lost
    DATABASE_POOL_MAX: '40',
    STAGED_TIMEOUT_MS: '1',
    VERDICT_TIMEOUT_MS: '60000',
    RUN_LOST_AFTER_MS: '20000',
  });
  const staging = await connectBus({ servers: bus.url, ...bus.credentials('staging'), name: 'staging' });
  const reader = new StreamReader(staging);
  const superuser = openDatabase<never>(database.url('superuser'), { max: 3 });
  await Promise.all([policy.ready(policyUrl), engine.ready(`http://127.0.0.1:${enginePort}`)]);
  return {
    workspace,
    superuser,
    reader,
    asStaging: new EventPublisher(staging, reader),
    policy: { ...policy, api: new Api({ url: policyUrl, token: person }) },
    engine: { ...engine, api: new Api({ url: `http://127.0.0.1:${enginePort}`, token: person }) },
    stop: async () => {
      await Promise.all([policy.stop(), engine.stop()]);
      await Promise.all([staging.close(), superuser.destroy()]);
      await bus.stop();
      await database.drop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
export type PolicyAndEngine = Awaited<ReturnType<typeof startPolicyAndEngine>>;

function serve(service: string, env: Record<string, string>) {
  const inherited = Object.entries(process.env).filter(([name]) => ['PATH', 'HOME', 'TMPDIR'].includes(name));
  const child: ChildProcess = spawn(process.execPath, [join(ROOT, 'services', service, 'dist/src/main.js')], {
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = once(child, 'exit');
  return {
    ready: (url: string) =>
      eventually(async () => (await fetch(`${url}/readyz`)).ok, { what: `${service} to be ready`, timeoutMs: 60_000 }),
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
