import { setTimeout as sleep } from 'node:timers/promises';
import type { ForeignConsumer } from './foreign-consumers.js';
import type { InstallationSecrets } from './installation-secrets.js';
import { migrate } from './migrate.js';
import { OWNER_ROLE } from './names.js';
import { provisionBus } from './provision.js';
import { CannotProvision, databaseUrl, provisionDatabase, withClient } from './roles.js';
import { verifyBus, verifyImports } from './verify-bus.js';

const PAUSE_MS = 500;
const OLDEST_FOR_COPIES = [2, 12] as const;
/** Of the network, of a server that starts or stops, and of one that has no place left at the moment. */
const PASSES = /^(E(CONN|HOST|NET|AI|PIPE|TIMEDOUT|NOTFOUND)|57P0|53300|08)/;

export interface Installation {
  /** The administrator's login, and the database that it owns. */
  databaseUrl: string;
  natsUrl: string;
  secrets: InstallationSecrets;
  consumers: readonly ForeignConsumer[];
  /** Copies of each message on as many servers. */
  replicas: number;
  maxBytes?: number;
  /** The root of the checkout or image: `services/<name>/dist/migrations` is found below it. */
  root: string;
  /** How long database and bus are waited for, each. */
  waitMs: number;
}

/**
 * Makes what services find ready: roles, schemas, tables, the stream and its consumers. Again and again without harm.
 * @param say told what was done, a line at a time, without any secret
 * @throws CannotProvision, MigrationFailed, BusUnusable, with what to do
 */
export async function provisionInstallation(to: Installation, say: (line: string) => void): Promise<void> {
  const { secrets, consumers } = to;
  const database = nameOf(to.databaseUrl);
  await untilDatabaseAnswers(to.databaseUrl, to.waitMs);
  await provisionDatabase({ superuserUrl: to.databaseUrl, database, passwords: secrets.database });
  say(`database ${database}: roles and schemas are there`);
  const ownerUrl = databaseUrl(to.databaseUrl, database, { role: OWNER_ROLE, password: secrets.database.owner });
  const applied = await migrate({ ownerUrl, root: to.root });
  for (const migration of applied) say(`applied ${migration}`);
  if (applied.length === 0) say('no migration was missing');

  const bus = {
    servers: to.natsUrl,
    passwords: secrets.bus,
    consumers: consumers.map((c) => ({ ...c, password: secrets.consumers[c.name] as string })),
    waitMs: to.waitMs,
  };
  const version = await verifyBus(bus);
  say(`bus: nats-server ${version} knows every account and stores messages`);
  if (to.replicas > 1 && !atLeast(version, OLDEST_FOR_COPIES))
    say(`WARNING: nats-server ${version} is older than 2.12: use a newer one where copies of the stream must agree`);
  await provisionBus({
    servers: to.natsUrl,
    password: secrets.bus.hub,
    replicas: to.replicas,
    consumers,
    ...(to.maxBytes === undefined ? {} : { maxBytes: to.maxBytes }),
  });
  await verifyImports(bus);
  say(`stream: ${to.replicas === 1 ? 'one copy' : `${to.replicas} copies`} of each message; every consumer is there`);
}

function nameOf(url: string): string {
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  if (name === '')
    throw new CannotProvision(
      'DATABASE_URL names no database: write it behind the host, as in postgres://me@host/holdpoint',
    );
  return name;
}

/** A server that answers with a refusal is not asked again. @throws CannotProvision when nothing has answered in time */
async function untilDatabaseAnswers(url: string, waitMs: number): Promise<void> {
  for (const end = performance.now() + waitMs; ; await sleep(PAUSE_MS))
    try {
      return await withClient(url, async (client) => {
        await client.query('SELECT 1');
      });
    } catch (cause) {
      const { code = '', message } = cause as Error & { code?: string };
      const passes = PASSES.test(code) || (code === '' && /terminated|timeout/i.test(message));
      if (passes && performance.now() < end) continue;
      throw new CannotProvision(
        `the database of DATABASE_URL ${passes ? 'is not reachable' : 'refuses us'} (${message || code}): ${passes ? 'start it, or correct' : 'correct'} the URL`,
        { cause },
      );
    }
}

function atLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [a = 0, b = 0] = version.split('.').map(Number);
  return a > major || (a === major && b >= minor);
}
