import { randomBytes } from 'node:crypto';
import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import type { ServiceName } from '@holdpoint/contracts';
import { openDatabase } from '@holdpoint/runtime';
import { eventually, startBus, type TestBus, testDatabase } from '@holdpoint/testing';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { sql } from 'kysely';
import type { AnyDatabase } from '../src/event-context.js';
import {
  API_PREFIX,
  type Bus,
  connectBus,
  EventPublisher,
  eventingTables,
  newEvent,
  StreamReader,
} from '../src/index.js';

export const SCHEMA = 'eventing_test';

/** The failures of a test are meant, and so is what is logged of them: it is left out, and all else is printed. */
export function expectLogs(...meant: RegExp[]): void {
  class Unexpected extends ConsoleLogger {
    protected override printMessages(messages: unknown[], ...how: never[]): void {
      const left = messages.filter((m) => !meant.some((pattern) => pattern.test(String(m))));
      super.printMessages(left, ...how);
    }
  }
  Logger.overrideLogger(new Unexpected());
}

/** Everything that a test opened, closed in reverse order. */
export class Opened {
  readonly #closers: (() => unknown)[] = [];

  on<T>(thing: T, close: (thing: T) => unknown): T {
    this.#closers.push(() => close(thing));
    return thing;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}

export async function busOf(server: TestBus, user: ServiceName | 'hub'): Promise<Bus> {
  const apiPrefix = user === 'hub' ? '$JS.API' : API_PREFIX;
  return connectBus({ servers: server.url, ...server.credentials(user), name: user, apiPrefix });
}

/** Brings a killed server back, and waits until the provisioner can look into it again. Other connections are on their own. */
export async function bringBack(server: TestBus, hub: Bus): Promise<void> {
  await server.restart();
  await eventually(() => hub.request(() => hub.jsm.getAccountInfo()));
}

export const publisherOf = (bus: Bus): EventPublisher => new EventPublisher(bus, new StreamReader(bus));

/** A bus server, and a database with a schema that has the tables of this package, for one service's role. */
export async function open(service: ServiceName) {
  const opened = new Opened();
  const server = opened.on(await startBus(), (s) => s.stop());
  const database = opened.on(await testDatabase(), (d) => d.drop());
  const role = `hp_${service.replaceAll('-', '_')}`;
  const owner = openDatabase<unknown>(database.url('owner'));
  await sql`CREATE SCHEMA ${sql.id(SCHEMA)}`.execute(owner);
  await sql`GRANT USAGE ON SCHEMA ${sql.id(SCHEMA)} TO ${sql.id(role)}`.execute(owner);
  await eventingTables(owner, SCHEMA, role);
  await sql`CREATE TABLE ${sql.id(SCHEMA, 'effects')} (event_id text, seq bigint)`.execute(owner);
  await sql`GRANT SELECT, INSERT ON ${sql.id(SCHEMA, 'effects')} TO ${sql.id(role)}`.execute(owner);
  await owner.destroy();

  const url = `${database.url(service)}?options=${encodeURIComponent(`-c search_path=${SCHEMA}`)}`;
  const db: AnyDatabase = opened.on(openDatabase(url), (d) => d.destroy());
  const superuser: AnyDatabase = opened.on(
    openDatabase(`${database.url('superuser')}?options=${encodeURIComponent(`-c search_path=${SCHEMA}`)}`),
    (d) => d.destroy(),
  );
  const bus = opened.on(await busOf(server, service), (b) => b.close());
  return { opened, server, database, url, db, superuser, bus };
}

export const someone = { kind: 'person', id: 'ada' } as const;
export const token = (): string => randomBytes(8).toString('hex');
const digest = 'a'.repeat(64);

const call = {
  agent: 'assistant',
  model: 'scripted',
  source: 'webview',
  principal: someone,
  conversationId: 'c1',
  server: 'builtin',
  tool: 'Mail',
  action: 'send',
  schemaDigest: digest,
  digest,
} as const;

export const taskCancelled = (taskId: string, reason = 'no longer needed') =>
  newEvent('task.cancelled', {
    spaceId: 'acme',
    entityId: taskId,
    data: { by: someone, reason, runId: null },
  });

export const policyDecided = (callId: string, verdict: 'auto' | 'deny' = 'auto') =>
  newEvent('policy.decided', {
    spaceId: 'acme',
    entityId: callId,
    data: {
      call,
      verdict,
      reason: 'rule',
      rule: 'builtin: default',
      policyVersion: 'v1',
      mode: 'enforce',
      flags: [],
      proposalSeq: 1,
    },
  });

/** Once a call. */
export const callStaged = (callId: string, number = 1) =>
  newEvent('call.staged', {
    spaceId: 'acme',
    entityId: callId,
    data: {
      call,
      number,
      hint: 'write',
      expiresAt: '2030-01-01T00:00:00.000Z',
      rule: 'builtin: Mail.send',
      policyVersion: 'v1',
      flags: [],
    },
  });

/** Any number a call. */
export const approvalVoted = (callId: string, number = 1) =>
  newEvent('approval.voted', {
    spaceId: 'acme',
    entityId: callId,
    data: { call, number, vote: 'approve', by: someone, digestSeen: digest, reason: null },
  });

/** Stands between a client and a server, and can be cut. */
export class Cable {
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  constructor(private readonly target: URL) {}

  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String(this.#port);
    return url.href;
  }

  async up(): Promise<void> {
    const server = createServer((from) => {
      const to = dial(Number(this.target.port), this.target.hostname);
      for (const [socket, other] of [
        [from, to],
        [to, from],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => other.destroy());
        socket.on('close', () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
      }
      from.pipe(to);
      to.pipe(from);
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as { port: number }).port;
  }

  /** Connections that are there swallow everything and say nothing, as after a failover; new ones work. */
  mute(): void {
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.resume();
    }
  }

  /** Connections break, new ones are refused. */
  async down(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
