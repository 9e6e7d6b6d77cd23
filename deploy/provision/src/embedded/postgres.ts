import { execFileSync } from 'node:child_process';
import { chown, mkdir, readFile, readlink, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type PostgresBinaries, postgresBinaries } from './postgres-binaries.js';
import { endProcess, identify, type ProcessIdentity } from './process-identity.js';
import { freePort, startServer } from './server-process.js';

export interface EmbeddedPostgres {
  /** As superuser, on the database `postgres`. */
  url: string;
  port: number;
  pid: number;
  identity: ProcessIdentity;
  /** Ends once the server has, whatever ended it. */
  exited: Promise<void>;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** The data directory. Its parent must exist, and when run as root be reachable by the `postgres` user. */
  dir: string;
  /** 0 takes a free one. */
  port?: number;
  /** The superuser's, set when the data directory is made. */
  password: string;
  /** false gives up every promise after a crash of the machine: for tests only. */
  durable: boolean;
  logFile?: string;
}

/** Commits still reach the operating system, and so outlive a kill -9 of the server. */
const UNSAFE = ['fsync=off', 'full_page_writes=off'];

/**
 * PostgreSQL on loopback, its data directory made when there is none. The caller owns `dir`: a server left over there by a
 * caller that was killed is ended first.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const { dir, password, durable, logFile = `${dir}.log` } = options;
  const binaries = await postgresBinaries(`${dir}-programs`);
  if (!(await stat(join(dir, 'PG_VERSION')).catch(() => null))) await initialise(dir, password, durable, binaries);
  await clearLeftOver(dir);
  const start = async (port: number) => {
    const settings = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=200',
      ...(durable ? [] : UNSAFE),
    ];
    const { server } = await startServer({
      command: binaries.postgres,
      args: ['-D', dir, '-p', String(port), ...settings.flatMap((s) => ['-c', s])],
      logFile,
      ...(binaries.runAs ? { spawn: binaries.runAs } : {}),
      timeoutMs: 120_000,
      ready: (pid) => isReady(dir, pid),
    });
    return {
      url: `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
      port,
      pid: server.identity.pid,
      identity: server.identity,
      exited: server.exited,
      // SIGINT is PostgreSQL's fast shutdown: sessions are cut, everything committed is on disk.
      stop: () => server.stop('SIGINT', 30_000),
    };
  };
  return options.port ? start(options.port) : start(await freePort()).catch(async () => start(await freePort()));
}

/** Made beside and renamed when whole, so that an interrupted first start leaves nothing half done. */
async function initialise(dir: string, password: string, durable: boolean, { initdb, runAs }: PostgresBinaries) {
  const half = `${dir}.new`;
  const passwordFile = join(half, '..', `.pg-${process.pid}`);
  await rm(half, { recursive: true, force: true });
  await mkdir(half, { mode: 0o700 });
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (runAs) for (const path of [half, passwordFile]) await chown(path, runAs.uid, runAs.gid);
  try {
    const args = [
      `--pgdata=${half}`,
      '--auth=scram-sha-256',
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
      ...(durable ? [] : ['--no-sync']),
    ];
    execFileSync(initdb, args, { stdio: 'pipe', cwd: dirname(half), ...runAs });
  } catch (cause) {
    const { stderr } = cause as { stderr?: Buffer };
    throw new Error(`PostgreSQL could not make its data directory ${dir}: ${stderr ?? cause}`, { cause });
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(half, dir);
}

/** `postmaster.pid` outlives a kill -9, and its pid may by now be anybody's: only a server on this very folder is ended. */
async function clearLeftOver(dir: string): Promise<void> {
  const lock = join(dir, 'postmaster.pid');
  const pid = Number((await readFile(lock, 'utf8').catch(() => '')).split('\n')[0]);
  if (!pid) return;
  const identity = identify(pid);
  if (identity && (await servesFolder(pid, dir))) await endProcess(identity, 'SIGINT', 30_000);
  await rm(lock, { force: true });
}

async function servesFolder(pid: number, dir: string): Promise<boolean> {
  if (process.platform === 'linux')
    return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === (await realpath(dir));
  const command = execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  return command.includes('postgres') && command.includes(dir);
}

/** The eighth line of the lock file is PostgreSQL's own word on its state. */
async function isReady(dir: string, pid: number): Promise<true | undefined> {
  const lines = (await readFile(join(dir, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready' ? true : undefined;
}
