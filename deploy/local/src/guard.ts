import { endProcess, isRunning, type ProcessIdentity } from '@holdpoint/provision';
import { forget, record, recorded } from './run-records.js';

interface Guarded {
  identity: ProcessIdentity;
  exited: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Stands between the supervisor and a server that knows nothing of supervisors: the server ends when the supervisor has
 * gone, even by kill -9, and the guard ends when the server has. A server that a killed guard left is ended first.
 */
export async function guard(runDir: string, name: string, start: () => Promise<Guarded>): Promise<void> {
  let stopping = false;
  let server: Guarded | undefined;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    if (server) await end(server);
  };
  const end = async (running: Guarded) => {
    await running.stop();
    await forget(runDir, name);
    process.exit(0);
  };
  process.on('disconnect', () => void stop());
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop());

  const left = await recorded(runDir, name);
  if (left && isRunning(left)) await endProcess(left, 'SIGINT', 30_000);
  server = await start();
  await record(runDir, name, server.identity);
  if (stopping) await end(server);
  process.send?.('ready');
  await server.exited;
  if (!stopping) {
    console.error(`${name} ended by itself`);
    process.exit(1);
  }
}
