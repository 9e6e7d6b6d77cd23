import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endProcess, identify, isRunning, type ProcessIdentity } from '@holdpoint/provision';

/** The supervisor's own record, which also is the claim on the folder. */
export const SUPERVISOR = 'supervisor';
const GUARD = '-guard';

const fileOf = (dir: string, name: string) => join(dir, `${name}.json`);

/** Who runs under this name, as last recorded; it may have ended since. */
export async function recorded(dir: string, name: string): Promise<ProcessIdentity | undefined> {
  try {
    return JSON.parse(await readFile(fileOf(dir, name), 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

/** Keeps the identity of a running process, so that a later start can tell it from another with the same pid. */
export async function record(dir: string, name: string, identity: ProcessIdentity): Promise<void> {
  const half = `${fileOf(dir, name)}.${process.pid}`;
  await writeFile(half, JSON.stringify(identity), { mode: 0o600 });
  await rename(half, fileOf(dir, name));
}

export const forget = (dir: string, name: string): Promise<void> => rm(fileOf(dir, name), { force: true });

/**
 * Makes this process the one supervisor of the folder. The record appears whole or not at all, and a dead one's is moved
 * away before it is judged a second time, so that of two that start at once one is refused.
 * @throws when another one lives
 */
export async function claim(dir: string): Promise<void> {
  const mine = join(dir, `claim.${process.pid}`);
  const moved = join(dir, `stale.${process.pid}`);
  await writeFile(mine, JSON.stringify(identify(process.pid)), { mode: 0o600 });
  try {
    for (;;) {
      if (await linked(mine, fileOf(dir, SUPERVISOR))) return;
      const other = await recorded(dir, SUPERVISOR);
      if (other && isRunning(other)) throw new AlreadyRunning(other.pid);
      await rename(fileOf(dir, SUPERVISOR), moved).catch(() => {});
      const late = JSON.parse(await readFile(moved, 'utf8').catch(() => 'null')) as ProcessIdentity | null;
      if (late && isRunning(late)) {
        await linked(moved, fileOf(dir, SUPERVISOR));
        throw new AlreadyRunning(late.pid);
      }
    }
  } finally {
    await rm(mine, { force: true });
    await rm(moved, { force: true });
  }
}

export class AlreadyRunning extends Error {
  override name = 'AlreadyRunning';
  constructor(pid: number) {
    super(
      `Holdpoint already runs on this folder (process ${pid}): stop that one first, or set HOLDPOINT_HOME to another folder`,
    );
  }
}

const linked = (from: string, to: string): Promise<boolean> =>
  link(from, to).then(
    () => true,
    (err: NodeJS.ErrnoException) => {
      if (err.code === 'EEXIST') return false;
      throw err;
    },
  );

/**
 * Ends what a killed supervisor left behind: first what has neither guard nor data of its own, then the guards, which
 * end their servers, then servers whose guards were killed too. Only processes that are still the recorded ones.
 * Returns their names.
 */
export async function endOrphans(dir: string): Promise<string[]> {
  const names = (await readdir(dir)).filter((f) => f.endsWith('.json')).map((f) => f.slice(0, -'.json'.length));
  const orphans = new Map<string, ProcessIdentity>();
  for (const name of names.filter((n) => n !== SUPERVISOR)) {
    const identity = await recorded(dir, name);
    if (identity && isRunning(identity)) orphans.set(name, identity);
    else await forget(dir, name);
  }
  const isGuard = (name: string) => name.endsWith(GUARD);
  const isGuarded = (name: string) => names.includes(`${name}${GUARD}`);
  const end = async (which: (name: string) => boolean, signal: NodeJS.Signals, graceMs: number) => {
    const chosen = [...orphans].filter(([name]) => which(name));
    await Promise.all(
      chosen.map(async ([name, identity]) => {
        await endProcess(identity, signal, graceMs);
        await forget(dir, name);
      }),
    );
  };
  await end((name) => !isGuard(name) && !isGuarded(name), 'SIGTERM', 3_000);
  await end(isGuard, 'SIGTERM', 40_000);
  await end(isGuarded, 'SIGINT', 30_000);
  return [...orphans.keys()];
}
