import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, identify, type ProcessIdentity } from '@holdpoint/provision';
import type { Home } from './home.js';
import { logEnd, logTail, openLog } from './log-file.js';
import { REPOSITORY } from './repository.js';
import { forget, record } from './run-records.js';

/** Compiled code of the dependencies, which are most of what a service loads: about halves its start. */
const COMPILE_CACHE = join(REPOSITORY, 'node_modules', '.cache', 'node');
/** Variables that hold keys and logins of models, mail servers, bots and file servers. */
const ENGINE_ONLY = [
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'MAIL_SMTP_URL',
  'MAIL_IMAP_URL',
  'TELEGRAM_BOT_TOKEN',
  'FTP_URL',
  'ORDERS_TOKEN',
];
const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 2_000;
/** One that was ready, has run for so long and then ends is not in a crash loop. */
const SETTLED_MS = 3_000;
const CRASH_LOOP = 4;
/** A service's status when a person has configured it wrongly: another start would say the same. */
const EX_CONFIG = 78;

export interface ChildOptions {
  name: string;
  home: Home;
  /** The compiled program. */
  script: string;
  env: Record<string, string>;
  /** Variables that it does not inherit. */
  withheld?: readonly string[];
  say: (line: string) => void;
}

/**
 * A process of Node with a log of its own and a channel whose end it takes as the supervisor's. In a session of its own,
 * so that Ctrl-C reaches the supervisor alone, which stops things in order.
 */
async function spawnChild({
  name,
  home,
  script,
  env,
  withheld = [],
}: ChildOptions): Promise<{ child: ChildProcess; identity: ProcessIdentity; said: () => string }> {
  const path = join(home.logs, `${name}.log`);
  const log = openLog(path);
  const start = logEnd(path);
  const child = spawn(process.execPath, ['--enable-source-maps', script], {
    cwd: REPOSITORY,
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...inherited(withheld), ...env },
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  });
  closeSync(log);
  await once(child, 'spawn');
  // A child that ends at once closes its channel under our feet.
  child.on('error', () => {});
  const identity = identify(child.pid as number) ?? { pid: child.pid as number, started: '' };
  await record(home.run, name, identity);
  return { child, identity, said: () => `the end of ${path}:\n${logTail(path, start)}` };
}

/** Keys and logins are for the engine alone, which is given them by name; the administrator's database login is for nobody. */
function inherited(withheld: readonly string[]): NodeJS.ProcessEnv {
  const not = new Set([...ENGINE_ONLY, 'DATABASE_URL', ...withheld]);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !not.has(name)));
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;
const endOf = (child: ChildProcess): string => child.signalCode ?? `code ${child.exitCode}`;
const ended = async (child: ChildProcess): Promise<void> => {
  if (!hasEnded(child)) await once(child, 'exit');
};

/** Runs a program that does one thing and ends. @throws with the end of its log when it fails */
export async function runOnce(options: ChildOptions, signal: AbortSignal): Promise<void> {
  const { child, identity, said } = await spawnChild(options);
  const cancel = () => void endProcess(identity, 'SIGTERM', 2_000);
  signal.addEventListener('abort', cancel, { once: true });
  await ended(child);
  signal.removeEventListener('abort', cancel);
  await forget(options.home.run, options.name);
  signal.throwIfAborted();
  if (child.exitCode !== 0) throw new Error(`${options.name} failed (${endOf(child)}); ${said()}`);
}

/** A child that is started again, ever more slowly, whenever it ends by itself. */
export class Child {
  readonly #options: ChildOptions;
  #current: { child: ChildProcess; identity: ProcessIdentity } | undefined;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  readonly #crashLoop = Promise.withResolvers<never>();
  readonly #ready = Promise.withResolvers<void>();

  constructor(options: ChildOptions) {
    this.#options = options;
    this.#crashLoop.promise.catch(() => {});
    this.#running = this.#run().catch((err: Error) => this.#crashLoop.reject(err));
  }

  /** Resolves at the first message that says it is ready. Every program sends it. */
  get ready(): Promise<void> {
    return Promise.race([this.#ready.promise, this.crashLoop]);
  }

  /** Rejects when the child ends again and again, or at once when it is configured wrongly. It is started further all the same. */
  get crashLoop(): Promise<never> {
    return this.#crashLoop.promise;
  }

  /** Asks it to end, kills it when it does not, and starts it no more. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    if (this.#current) await endProcess(this.#current.identity, 'SIGTERM', graceMs);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { name, home, say } = this.#options;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      const since = performance.now();
      const { child, identity, said } = await spawnChild(this.#options);
      this.#current = { child, identity };
      let cameUp = false;
      child.on('message', () => {
        cameUp = true;
        this.#ready.resolve();
      });
      if (signal.aborted) await endProcess(identity, 'SIGTERM', 2_000);
      await ended(child);
      await forget(home.run, name);
      if (signal.aborted) return;
      failures = cameUp && performance.now() - since > SETTLED_MS ? 1 : failures + 1;
      const delay = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS);
      const log = join(home.logs, `${name}.log`);
      if (child.exitCode !== EX_CONFIG || failures > 1)
        say(
          `${name} ended (${endOf(child)}); starting it again in ${delay / 1000} s${failures >= CRASH_LOOP ? `, for the ${failures}th time: see ${log}` : ''}`,
        );
      if (child.exitCode === EX_CONFIG) this.#crashLoop.reject(new Error(`${name} is configured wrongly; ${said()}`));
      else if (failures === CRASH_LOOP) this.#crashLoop.reject(new Error(`${name} does not stay up; ${said()}`));
      await sleep(delay, undefined, { signal }).catch(() => {});
    }
  }
}
