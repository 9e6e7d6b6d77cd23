import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceName } from '@holdpoint/contracts';
import { isRunning, whenGone } from '@holdpoint/provision';
import type { ClientFile } from './client-file.js';
import { type Home, homeAt } from './home.js';
import { answers } from './readiness.js';
import { program } from './repository.js';
import { endOrphans, recorded, SUPERVISOR } from './run-records.js';

/** The processes of a running system. `postgres` and `nats` are the servers themselves; guards stand before them. */
export type ProcessName =
  | ServiceName
  | `${ServiceName}-${number}`
  | 'postgres'
  | 'postgres-guard'
  | 'nats'
  | 'nats-guard'
  | 'smtp'
  | 'issuer'
  | 'traces'
  | 'supervisor';

export interface StackOptions {
  /** Default: a scratch folder, removed by `stop`. */
  home?: string;
  /** Default: any that are free. */
  ports?: 'free' | 'default';
  /** Settings besides, for the supervisor and the services. */
  env?: Record<string, string>;
  timeoutMs?: number;
}

export interface Stack extends ClientFile {
  home: string;
  paths: Home;
  /** What the supervisor has printed. */
  output(): string;
  /** The pid of a process now; undefined while it is down. */
  pid(name: ProcessName): Promise<number | undefined>;
  /** Kills a process without warning, and returns once it is gone. The supervisor starts it again. */
  kill9(name: ProcessName): Promise<void>;
  /** Resolves once every service says that it is ready. */
  ready(timeoutMs?: number): Promise<void>;
  /** Stops everything, and leaves no process behind even when the supervisor was killed. */
  stop(): Promise<void>;
}

/**
 * The whole system as `npm start` runs it, in processes of its own. Needs a build. Ends with the calling process.
 * @throws with what the supervisor printed when the system does not become ready
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const path = options.home ?? (await mkdtemp(join(tmpdir(), 'holdpoint-')));
  const paths = homeAt(path);
  const supervisor = spawn(process.execPath, ['--enable-source-maps', program('main.js')], {
    env: { ...process.env, HOLDPOINT_HOME: path, HOLDPOINT_PORTS: options.ports ?? 'free', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  const readyLine = Promise.withResolvers<void>();
  for (const stream of [supervisor.stdout, supervisor.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (/^ready/m.test(output)) readyLine.resolve();
    });
  const exited = once(supervisor, 'exit').then(() => {});
  const stop = async () => {
    supervisor.kill('SIGTERM');
    await exited;
    await endOrphans(paths.run);
    if (!options.home) await rm(path, { recursive: true, force: true });
  };
  const late = sleep(options.timeoutMs ?? 120_000, 'late', { ref: false });
  const first = await Promise.race([readyLine.promise.then(() => 'ready'), exited.then(() => 'exited'), late]);
  if (first !== 'ready') {
    await stop().catch(() => {});
    throw new Error(`the system did not become ready (${first}); it printed:\n${output}`);
  }

  const client = JSON.parse(await readFile(paths.client, 'utf8')) as ClientFile;
  const running = async (name: ProcessName) => {
    const identity = await recorded(paths.run, name);
    return identity && isRunning(identity) ? identity : undefined;
  };
  return {
    home: path,
    paths,
    ...client,
    output: () => output,
    pid: async (name) => (await running(name))?.pid,
    kill9: async (name) => {
      const identity = await running(name);
      if (!identity) throw new Error(`${name} does not run`);
      process.kill(identity.pid, 'SIGKILL');
      if (name === SUPERVISOR) await exited;
      else await whenGone(identity, 10_000);
    },
    ready: async (timeoutMs = 60_000) => {
      const urls = Object.values(client.urls).map((url) => `${url}/readyz`);
      for (const end = performance.now() + timeoutMs; performance.now() < end; await sleep(100))
        if ((await Promise.all(urls.map(answers))).every(Boolean)) return;
      throw new Error(`not every service is ready after ${timeoutMs} ms; the supervisor printed:\n${output}`);
    },
    stop,
  };
}
