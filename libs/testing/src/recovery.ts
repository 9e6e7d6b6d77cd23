import { join } from 'node:path';
import { type ServiceName, STREAM } from '@holdpoint/contracts';
import {
  CannotRecover,
  migrate,
  OWNER_ROLE,
  projectionOf,
  READERS,
  type Recovery,
  rebuild,
  reconcile,
  refill,
  roleOf,
  schemaOf,
  withClient,
} from '@holdpoint/provision';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { TestBus } from './bus.js';
import type { TestDatabase } from './database.js';
import { eventually } from './eventually.js';

export { CannotRecover, rebuild, reconcile, refill };

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** Recovery as an operator has it, on a test's database and bus. */
export const recoveryOf = (database: TestDatabase, bus: TestBus, lines: string[] = []): Recovery => ({
  ownerUrl: database.url('owner'),
  bus: { servers: bus.url, password: bus.credentials('hub').pass },
  root: ROOT,
  say: (line) => lines.push(line),
});

/**
 * Every row of the service's `from-stream` and `derived` tables, as the tables' comments have it, but for the columns that
 * its projection says no event tells.
 */
export async function rebuildableRows(
  database: TestDatabase,
  service: ServiceName,
): Promise<Record<string, unknown[]>> {
  const { tables: projected, elsewhere = {} } = await projectionOf(ROOT, service);
  return withClient(database.url('superuser'), async (client) => {
    const { rows: tables } = await client.query(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'
         AND obj_description(oid) ~ '^(from-stream|derived):' ORDER BY 1`,
      [schemaOf(service)],
    );
    const found: Record<string, unknown[]> = {};
    for (const { name } of tables) {
      if (name in elsewhere) continue;
      const untold = projected.find((t) => t.name === name)?.untold ?? [];
      const { rows } = await client.query(
        `SELECT to_jsonb(t) - $1::text[] AS row FROM ${schemaOf(service)}.${name} t ORDER BY (to_jsonb(t) - $1::text[])::text`,
        [untold],
      );
      found[name] = rows.map((r) => r.row);
    }
    return found;
  });
}

/** The service's whole schema is gone; an operator provisions, and has it empty. */
export async function loseSchema(database: TestDatabase, service: ServiceName): Promise<void> {
  const schema = schemaOf(service);
  const readers = Object.values(READERS).flatMap((r) => (r.service === service ? [r.role] : []));
  await withClient(database.url('superuser'), async (client) => {
    await client.query(`DROP SCHEMA ${schema} CASCADE`);
    await client.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${OWNER_ROLE}`);
    await client.query(`GRANT USAGE ON SCHEMA ${schema} TO ${[roleOf(service), ...readers].join(', ')}`);
  });
  await migrate({ ownerUrl: database.url('owner'), root: ROOT, services: [service] });
}

/** Resolves once the service has handled all that is in the stream, and everything that it promised is there too. */
export async function untilQuiet(database: TestDatabase, bus: TestBus, service: ServiceName): Promise<void> {
  const { user, pass } = bus.credentials('hub');
  const nc = await connect({ servers: bus.url, user, pass });
  try {
    const jsm = await jetstreamManager(nc);
    await withClient(database.url('superuser'), (client) =>
      eventually(async () => {
        const unsent = async () =>
          service === 'audit'
            ? 0
            : (await client.query(`SELECT FROM ${schemaOf(service)}.outbox WHERE sent_at IS NULL`)).rowCount;
        if (await unsent()) return undefined;
        const { state } = await jsm.streams.info(STREAM);
        for await (const consumer of jsm.consumers.list(STREAM))
          if (consumer.name.startsWith(`${service}__`) && consumer.num_pending + consumer.num_ack_pending > 0)
            return undefined;
        const { state: after } = await jsm.streams.info(STREAM);
        return after.last_seq === state.last_seq && !(await unsent()) ? true : undefined;
      }),
    );
  } finally {
    await nc.close();
  }
}

/** All that can be built anew is gone, and what is on its way; what is `backed-up` is there, as after a restored backup. */
async function loseRows(database: TestDatabase, service: ServiceName): Promise<void> {
  const schema = schemaOf(service);
  const { elsewhere = {} } = await projectionOf(ROOT, service);
  await withClient(database.url('superuser'), async (client) => {
    const { rows: tables } = await client.query(
      `SELECT c.oid::regclass::text AS name, (SELECT coalesce(jsonb_agg(t.tgname), '[]') FROM pg_trigger t
           WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled = 'A') AS always
       FROM pg_class c WHERE relnamespace = $1::regnamespace AND relkind = 'r'
         AND obj_description(oid) ~ '^(from-stream|derived|ephemeral):' AND relname <> ALL ($2::text[])`,
      [schema, Object.keys(elsewhere)],
    );
    for (const { name, always } of tables) {
      await client.query(
        `ALTER TABLE ${name} DISABLE TRIGGER USER; DELETE FROM ${name}; ALTER TABLE ${name} ENABLE TRIGGER USER`,
      );
      for (const trigger of always) await client.query(`ALTER TABLE ${name} ENABLE ALWAYS TRIGGER ${trigger}`);
    }
  });
}

/**
 * Looks for differences, loses what the service can have built anew, has it built anew, and hands back the rows of before and
 * after. The service must be stopped, and quiet before that.
 * @param backedUp the schema has tables that come from a backup: only the rows of the others are lost, not the schema
 */
export async function lostAndRebuilt(database: TestDatabase, bus: TestBus, service: ServiceName, backedUp = false) {
  const lines: string[] = [];
  const recovery = recoveryOf(database, bus, lines);
  const before = await rebuildableRows(database, service);
  const looked = await rebuild(recovery, service, true);
  await (backedUp ? loseRows : loseSchema)(database, service);
  const rebuilt = await rebuild(recovery, service);
  return { before, looked, rebuilt, after: await rebuildableRows(database, service), lines };
}
