import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BUS_USERS,
  type BusUser,
  type EmbeddedNats,
  type ForeignConsumer,
  foreignUser,
  provisionBus,
  startNats,
} from '@holdpoint/provision';
import { testEnvironment } from './environment.js';

export interface TestBus {
  /** Stays the same over `restart`. */
  url: string;
  port: number;
  readonly pid: number;
  credentials(user: BusUser): { user: string; pass: string };
  consumerCredentials(name: string): { user: string; pass: string };
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
  /** Stops the server, if it runs, and starts it on the same files and port. */
  restart(): Promise<void>;
  /** Stops the server, takes its stream away, and starts it with an empty one, provisioned anew. */
  wipe(): Promise<void>;
  /** Kills the server without warning and waits until it is gone; `restart` brings it back. */
  kill9(): Promise<void>;
}

export interface TestBusOptions {
  /** Path of a server to test against. Default: `NATS_SERVER`, else `nats-server` on the PATH. */
  natsServer?: string;
  /** Holds the stream's files; kept by `stop`. Default: a scratch folder. */
  dir?: string;
  /** Of an operator's own; `consumerCredentials` lets them in. */
  consumers?: readonly ForeignConsumer[];
  /** Sync each message to disk before its acknowledgement, where the server can. Default false. */
  durable?: boolean;
}

/** A bus server of its own for a test file, with the real accounts, the stream and every consumer. */
export async function startBus(options: TestBusOptions = {}): Promise<TestBus> {
  const run = testEnvironment();
  const dir = options.dir ?? (await mkdtemp(join(run.dir, 'nats-')));
  const passwords = Object.fromEntries(BUS_USERS.map((user) => [user, randomBytes(12).toString('hex')])) as Record<
    BusUser,
    string
  >;
  const consumers = (options.consumers ?? []).map((c) => ({ ...c, password: randomBytes(12).toString('hex') }));
  const start = async (port: number) => {
    const server = await startNats({
      dir,
      port,
      passwords,
      consumers,
      durable: options.durable ?? false,
      ...(options.natsServer ? { binary: options.natsServer } : {}),
    });
    await writeFile(join(run.dir, 'bus', `${server.pid}.json`), JSON.stringify(server.identity));
    return server;
  };
  let server: EmbeddedNats = await start(0);
  const { url, port } = server;
  await provisionBus({ servers: url, password: passwords.hub, consumers });
  return {
    url,
    port,
    get pid() {
      return server.pid;
    },
    credentials: (user) => ({ user, pass: passwords[user] }),
    consumerCredentials: (name) => {
      const consumer = consumers.find((c) => c.name === name);
      if (!consumer) throw new Error(`no consumer ${name} was declared`);
      return { user: foreignUser(consumer), pass: consumer.password };
    },
    stop: async () => {
      await server.stop();
      if (!options.dir) await rm(dir, { recursive: true, force: true });
    },
    restart: async () => {
      await server.stop();
      server = await start(port);
    },
    wipe: async () => {
      await server.stop();
      await rm(join(dir, 'jetstream'), { recursive: true, force: true });
      server = await start(port);
      await provisionBus({ servers: url, password: passwords.hub, consumers });
    },
    kill9: async () => {
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
    },
  };
}
