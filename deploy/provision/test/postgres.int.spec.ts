import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  DATABASE_NAME,
  type DatabasePasswords,
  databaseUrl,
  type EmbeddedPostgres,
  MigrationFailed,
  migrate,
  OWNER_ROLE,
  provisionDatabase,
  READER_NAMES,
  roleOf,
  SERVICES,
  startPostgres,
  withClient,
} from '../src/index.js';

let dir: string;
let postgres: EmbeddedPostgres;
const passwords = Object.fromEntries(
  [...SERVICES, ...READER_NAMES, 'owner'].map((n) => [n, `secret of ${n}`]),
) as DatabasePasswords;
const start = () => startPostgres({ dir: join(dir, 'data'), password: 'top/secret', durable: false });
const ownerUrl = () => databaseUrl(postgres.url, DATABASE_NAME, { role: OWNER_ROLE, password: passwords.owner });

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'postgres-'));
  await chmod(dir, 0o711);
  postgres = await start();
  await provisionDatabase({ superuserUrl: postgres.url, passwords });
});
afterAll(async () => {
  await postgres?.stop();
  await rm(dir, { recursive: true, force: true });
});

const asPolicy = () => databaseUrl(postgres.url, DATABASE_NAME, { role: roleOf('policy'), password: passwords.policy });

async function migration(name: string, sql: string) {
  const folder = join(dir, 'root/services/policy/dist/migrations');
  await mkdir(folder, { recursive: true });
  await writeFile(join(dir, 'root/package.json'), '{"type":"module"}');
  const code = `import { sql } from '${import.meta.resolve('kysely')}';\nexport const up = (db) => sql\`${sql}\`.execute(db);\n`;
  await writeFile(join(folder, `${name}.js`), code);
}

test('provisioning again changes nothing but the passwords', async () => {
  const changed = { ...passwords, policy: 'another secret' };
  await provisionDatabase({ superuserUrl: postgres.url, passwords: changed });
  await expect(withClient(asPolicy(), async () => {})).rejects.toThrow(/password authentication failed/);
  await provisionDatabase({ superuserUrl: postgres.url, passwords });
  await withClient(asPolicy(), (client) => client.query('SELECT 1'));
});

test('no role can get round a grant or row security, and only ours may connect', async () => {
  await withClient(postgres.url, async (client) => {
    const { rows } = await client.query(
      `SELECT rolname FROM pg_roles WHERE rolname LIKE 'hp\\_%' AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb)`,
    );
    expect(rows).toEqual([]);
    const { rows: open } = await client.query(`SELECT has_database_privilege('public', $1, 'CONNECT') AS may`, [
      DATABASE_NAME,
    ]);
    expect(open).toEqual([{ may: false }]);
  });
});

test('migrations run once, in the schema of their service, as its owner', async () => {
  await migration('0001_first', 'CREATE TABLE first (n int)');
  const run = () => migrate({ ownerUrl: ownerUrl(), root: join(dir, 'root'), services: ['policy'] });
  expect(await run()).toEqual(['policy/0001_first']);
  expect(await run()).toEqual([]);
  await withClient(postgres.url, async (client) => {
    const { rows } = await client.query(`SELECT schemaname, tableowner FROM pg_tables WHERE tablename = 'first'`);
    expect(rows).toEqual([]);
  });
  await withClient(ownerUrl(), async (client) => {
    const { rows } = await client.query(`SELECT schemaname, tableowner FROM pg_tables WHERE tablename = 'first'`);
    expect(rows).toEqual([{ schemaname: 'policy', tableowner: OWNER_ROLE }]);
  });
  await withClient(asPolicy(), async (client) => {
    await expect(client.query('SELECT * FROM first')).rejects.toThrow(/permission denied/);
  });
});

test('a migration that fails is named with its service, and leaves nothing', async () => {
  await migration('0002_broken', 'CREATE TABLE half (n int); SELECT no_such_column');
  const run = migrate({ ownerUrl: ownerUrl(), root: join(dir, 'root'), services: ['policy'] });
  await expect(run).rejects.toThrow(MigrationFailed);
  await expect(run).rejects.toThrow(/^policy\/0002_broken: .*no_such_column/);
  await withClient(ownerUrl(), async (client) => {
    await expect(client.query('SELECT * FROM policy.half')).rejects.toThrow(/does not exist/);
  });
  const unbuilt = migrate({ ownerUrl: ownerUrl(), root: join(dir, 'root'), services: ['staging'] });
  await expect(unbuilt).rejects.toThrow(/^staging: no compiled migrations .* build first/);
});

test('a start on the folder of a killed server, or of one that still runs, takes it over', async () => {
  await withClient(ownerUrl(), (client) => client.query('CREATE TABLE policy.kept AS SELECT 1 AS n'));
  process.kill(postgres.pid, 'SIGKILL');
  await postgres.exited;
  postgres = await start();
  const running = postgres;
  postgres = await start();
  await running.exited;
  await withClient(ownerUrl(), async (client) => {
    expect((await client.query('SELECT n FROM policy.kept')).rows).toEqual([{ n: 1 }]);
  });
});

test('a lock file whose pid belongs to another program by now does not hinder the start, nor harm that program', async () => {
  await postgres.stop();
  await writeFile(
    join(dir, 'data', 'postmaster.pid'),
    `${process.pid}\n${join(dir, 'data')}\n1\n5432\n\n127.0.0.1\n\nready\n`,
  );
  postgres = await start();
  await withClient(postgres.url, (client) => client.query('SELECT 1'));
});
