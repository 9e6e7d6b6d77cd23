import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, type TestDatabase, testDatabase } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Logger, Module } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { createService, DATABASE, DatabaseModule, isInfrastructureFault, openDatabase } from '../src/index.js';

let database: TestDatabase;
let dir: string;
beforeAll(async () => {
  Logger.overrideLogger(false);
  dir = mkdtempSync(join(tmpdir(), 'holdpoint-database-'));
  writeFileSync(join(dir, 'identities.json'), JSON.stringify({ people: [], services: [] }), { mode: 0o600 });
  database = await testDatabase();
});
afterAll(async () => {
  await database.drop();
  rmSync(dir, { recursive: true });
});

const service = (url: string) => {
  @Module({ imports: [DatabaseModule.forRoot(url, { max: 2, applicationName: 'test-service' })] })
  class ServiceModule {}
  return createService({
    name: 'test',
    module: ServiceModule,
    config: { HOST: '127.0.0.1', PORT: 0, HOLDPOINT_IDENTITY_FILE: join(dir, 'identities.json'), LOG_LEVEL: 'fatal' },
  });
};

async function withDatabase(fn: (db: Kysely<unknown>) => Promise<void>, url = database.url('agent-engine')) {
  const db = openDatabase<unknown>(url, { max: 1, applicationName: 'test-plain' });
  try {
    await fn(db);
  } finally {
    await db.destroy();
  }
}

test('a bigint is a number, and an error when it is too big to be one', async () => {
  await withDatabase(async (db) => {
    const { rows } = await sql<{ n: number; none: null }>`select 9007199254740991::int8 n, null::int8 none`.execute(db);
    expect(rows).toEqual([{ n: Number.MAX_SAFE_INTEGER, none: null }]);
    await expect(sql`select 9007199254740993::int8`.execute(db)).rejects.toThrow('select it as text');
    expect((await sql`select 1::int4 as still`.execute(db)).rows).toEqual([{ still: 1 }]);
  });
});

test('a session that the server ends is a fault of the infrastructure, and the pool goes on', async () => {
  await withDatabase(async (db) => {
    const lost = sql`select pg_sleep(20)`.execute(db).catch((err: unknown) => err);
    await withDatabase(async (admin) => {
      await eventually(
        async () =>
          (
            await sql`select pg_terminate_backend(pid) from pg_stat_activity
                      where application_name = 'test-plain' and query like '%pg_sleep(20)%' and pid <> pg_backend_pid()`.execute(
              admin,
            )
          ).rows.length === 1,
      );
    }, database.url('superuser'));
    expect(isInfrastructureFault(await lost)).toBe(true);
    const { rows } = await eventually(() => sql`select 1 as still`.execute(db));
    expect(rows).toEqual([{ still: 1 }]);
  });
});

test('a session that the server ends within a transaction harms that transaction alone', async () => {
  await withDatabase(async (db) => {
    const lost = db.transaction().execute(async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() pid`.execute(tx);
      await withDatabase(async (admin) => {
        await sql`select pg_terminate_backend(${rows[0]?.pid}, 5000)`.execute(admin);
      }, database.url('superuser'));
      // Nothing is asked while the connection breaks.
      await eventually(() =>
        sql`select 1`.execute(tx).then(
          () => false,
          () => true,
        ),
      );
      await sql`select 1`.execute(tx);
    });
    expect(isInfrastructureFault(await lost.catch((err: unknown) => err))).toBe(true);
    const { rows } = await eventually(() => sql`select 1 as still`.execute(db));
    expect(rows).toEqual([{ still: 1 }]);
  });
});

test('nobody there is a fault of the infrastructure', async () => {
  await withDatabase(async (db) => {
    const lost = await sql`select 1`.execute(db).catch((err: unknown) => err);
    expect(isInfrastructureFault(lost)).toBe(true);
  }, 'postgres://nobody:x@127.0.0.1:1/none');
});

test('a constraint is none', async () => {
  await withDatabase(async (db) => {
    const refused = await sql`select 1/0`.execute(db).catch((err: unknown) => err);
    expect(isInfrastructureFault(refused)).toBe(false);
  });
});

test('a service has its database injected, tells when it is away, and closes the pool last', async () => {
  const app = await service(database.url('agent-engine'));
  const db = app.get<Kysely<unknown>>(DATABASE);
  const { rows } = await sql<{ who: string }>`select current_user as who`.execute(db);
  expect(rows).toEqual([{ who: 'hp_agent_engine' }]);
  const ready = await fetch(`${await app.getUrl()}/readyz`);
  expect(await ready.json()).toEqual({ status: 'ready', checks: ['database', 'identities'] });
  await app.close();
  await expect(sql`select 1`.execute(db)).rejects.toThrow();
  await withDatabase(async (admin) => {
    await eventually(
      async () =>
        (await sql`select 1 from pg_stat_activity where application_name = 'test-service'`.execute(admin)).rows
          .length === 0,
    );
  }, database.url('superuser'));
});

test('a service whose database is away starts, and is not ready', async () => {
  const app = await service('postgres://nobody:x@127.0.0.1:1/none');
  const ready = await fetch(`${await app.getUrl()}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ failing: ['database'] });
  await app.close();
});
