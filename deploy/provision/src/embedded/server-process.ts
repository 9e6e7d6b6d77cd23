import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, identify, type ProcessIdentity } from './process-identity.js';

/** Whether this port can be listened on at this moment. */
export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/**
 * A port that was free a moment ago, below the range that systems take for outgoing connections: so that none of those
 * gets it before its server does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    if (await isFree(port)) return port;
  }
}

export interface ServerProcess {
  child: ChildProcess;
  identity: ProcessIdentity;
  /** Ends once the process has. */
  exited: Promise<void>;
  stop(signal: NodeJS.Signals, graceMs: number): Promise<void>;
}

/**
 * Starts a server whose output goes to `logFile`, and waits until `ready` answers something.
 * @throws with the end of the log when it exits first, or is not ready in time.
 */
export async function startServer<T>(options: {
  command: string;
  args: string[];
  logFile: string;
  spawn?: { uid: number; gid: number };
  timeoutMs: number;
  ready: (pid: number) => Promise<T | undefined>;
}): Promise<{ server: ServerProcess; answer: T }> {
  const log = openSync(options.logFile, 'a', 0o600);
  const child = spawn(options.command, options.args, { stdio: ['ignore', log, log], ...options.spawn });
  closeSync(log);
  await once(child, 'spawn');
  const pid = child.pid as number;
  const exited = once(child, 'exit').then(() => {});
  const identity = identify(pid) ?? { pid, started: '' };
  const stop = async (signal: NodeJS.Signals, graceMs: number) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    await endProcess(identity, signal, graceMs);
    await exited;
  };
  for (const end = Date.now() + options.timeoutMs; Date.now() < end; await sleep(20)) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    const answer = await options.ready(pid);
    if (answer !== undefined) return { server: { child, identity, exited, stop }, answer };
  }
  await stop('SIGKILL', 0);
  throw new Error(
    `${options.command} did not start; the end of its log (${options.logFile}):\n${readFileSync(options.logFile, 'utf8').slice(-2000)}`,
  );
}
