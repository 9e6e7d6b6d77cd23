import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process, not merely a number: the system gives a pid to another program once its process has ended. */
export interface ProcessIdentity {
  pid: number;
  /** When it started, in the system's own spelling. */
  started: string;
}

/** The identity of a running process; undefined when there is none, or only its remains. */
export function identify(pid: number): ProcessIdentity | undefined {
  try {
    if (process.platform !== 'linux') {
      const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
      return started ? { pid, started } : undefined;
    }
    // The second field, the program's name in parentheses, may itself hold blanks and parentheses.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, startTicks] = [fields[0], fields[19]];
    if (state === 'Z' || state === 'X') return undefined;
    return { pid, started: `${bootId()}:${startTicks}` };
  } catch {
    return undefined;
  }
}

const bootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

export const isRunning = (p: ProcessIdentity): boolean => identify(p.pid)?.started === p.started;

/** Waits until the process is gone. Returns whether it is. */
export async function whenGone(p: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  for (const end = Date.now() + timeoutMs; isRunning(p); await sleep(20)) if (Date.now() > end) return false;
  return true;
}

/** Asks the process to end, and kills it when it has not within `graceMs`. Touches no other process, whatever the pid. */
export async function endProcess(p: ProcessIdentity, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  for (const [s, wait] of [
    [signal, graceMs],
    ['SIGKILL', 5_000],
  ] as const) {
    if (!isRunning(p)) return;
    try {
      process.kill(p.pid, s);
    } catch {
      // it ended in between, or is not ours to end: whether it is gone is what counts
    }
    if (await whenGone(p, wait)) return;
  }
  throw new Error(`process ${p.pid} does not end; end it by hand`);
}
