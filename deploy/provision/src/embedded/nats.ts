import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BusConfig, type BusUser, renderBusConfig } from '../accounts.js';
import { serverVersion } from '../server-version.js';
import type { ProcessIdentity } from './process-identity.js';
import { startServer } from './server-process.js';

export interface EmbeddedNats {
  url: string;
  port: number;
  pid: number;
  identity: ProcessIdentity;
  /** Ends once the server has, whatever ended it. */
  exited: Promise<void>;
  stop(): Promise<void>;
}

export interface NatsOptions {
  /** Holds configuration, stream files and, unless given, the log. */
  dir: string;
  /** 0 lets the server choose. */
  port?: number;
  passwords: Record<BusUser, string>;
  consumers?: BusConfig['consumers'];
  /** Default: `NATS_SERVER`, else `nats-server` on the PATH. */
  binary?: string;
  /** Sync each message before its acknowledgement, where the server can. Default true. */
  durable?: boolean;
  logFile?: string;
}

export const natsBinary = (): string => process.env['NATS_SERVER'] || 'nats-server';

/** A nats-server on loopback with the accounts of `topology`. The caller owns `dir` and runs no other server on it. */
export async function startNats(options: NatsOptions): Promise<EmbeddedNats> {
  const { dir, port = 0, passwords, binary = natsBinary(), durable = true } = options;
  const { canSyncAlways } = await serverVersion(binary);
  const configFile = join(dir, 'nats.conf');
  const portsDir = join(dir, 'ports');
  await mkdir(dir, { recursive: true });
  await rm(portsDir, { recursive: true, force: true });
  await mkdir(portsDir);
  const config = renderBusConfig({
    passwords,
    ...(options.consumers ? { consumers: options.consumers } : {}),
    storeDir: dir,
    port: port === 0 ? -1 : port,
    syncAlways: durable && canSyncAlways,
  });
  await writeFile(configFile, config, { mode: 0o600 });
  const { server, answer } = await startServer({
    command: binary,
    args: ['-c', configFile, '--ports_file_dir', portsDir],
    logFile: options.logFile ?? join(dir, 'nats.log'),
    timeoutMs: 30_000,
    ready: () => listeningPort(portsDir),
  });
  return {
    url: `nats://127.0.0.1:${answer}`,
    port: answer,
    pid: server.identity.pid,
    identity: server.identity,
    exited: server.exited,
    // SIGINT: a server that is sent SIGTERM exits with an error code.
    stop: () => server.stop('SIGINT', 10_000),
  };
}

/** The server writes this file once it listens; it may be read half written. */
async function listeningPort(portsDir: string): Promise<number | undefined> {
  const file = (await readdir(portsDir)).find((name) => name.endsWith('.ports'));
  if (!file) return undefined;
  try {
    const { nats } = JSON.parse(await readFile(join(portsDir, file), 'utf8')) as { nats: string[] };
    return Number(new URL(nats[0] as string).port);
  } catch {
    return undefined;
  }
}
