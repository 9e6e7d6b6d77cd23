import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  CannotProvision,
  type DatabasePasswords,
  databaseUrl,
  type EmbeddedPostgres,
  migrate,
  OWNER_ROLE,
  provisionDatabase,
  roleOf,
  SERVICES,
  startPostgres,
  withClient,
} from '../src/index.js';

const root = join(import.meta.dirname, '..', '..', '..');
const passwords = Object.fromEntries([...SERVICES, 'owner'].map((n) => [n, `secret of ${n}`])) as DatabasePasswords;
let dir: string;
let postgres: EmbeddedPostgres;
let adminUrl: string;

const asSuperuser = (statement: string) => withClient(postgres.url, (client) => client.query(statement));
const provision = () => provisionDatabase({ superuserUrl: adminUrl, database: 'given', passwords });
const refusal = () => provision().then(String, (err: Error) => err);

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'postgres-'));
  await chmod(dir, 0o711);
  postgres = await startPostgres({ dir: join(dir, 'data'), password: 'secret', durable: false });
  await asSuperuser("CREATE ROLE chief LOGIN PASSWORD 'of chief'");
  await asSuperuser('CREATE DATABASE given');
  adminUrl = databaseUrl(postgres.url, 'given', { role: 'chief', password: 'of chief' });
}, 120_000);
afterAll(async () => {
  await postgres?.stop();
  await rm(dir, { recursive: true, force: true });
});

test('a login without the rights is refused before anything is made, with what to grant', async () => {
  const fault = (await refusal()) as Error;
  expect(fault).toBeInstanceOf(CannotProvision);
  expect(fault.message).toContain('ALTER ROLE "chief" CREATEROLE');
  expect(fault.message).toContain('ALTER DATABASE "given" OWNER TO "chief"');
  const { rows } = await asSuperuser("SELECT rolname FROM pg_roles WHERE rolname LIKE 'hp\\_%'");
  expect(rows).toEqual([]);
});

test('the owner of an empty database who may make roles, and is no superuser, gets all of it', async () => {
  await asSuperuser('ALTER ROLE chief CREATEROLE');
  await asSuperuser('ALTER DATABASE given OWNER TO chief');
  await provision();
  const ownerUrl = databaseUrl(adminUrl, 'given', { role: OWNER_ROLE, password: passwords.owner });
  expect((await migrate({ ownerUrl, root })).length).toBeGreaterThan(SERVICES.length);
  await provision();
  expect(await migrate({ ownerUrl, root })).toEqual([]);
  for (const service of SERVICES)
    await withClient(
      databaseUrl(adminUrl, 'given', { role: roleOf(service), password: passwords[service] }),
      (client) => client.query('SELECT 1'),
    );
  const policy = databaseUrl(adminUrl, 'given', { role: roleOf('policy'), password: passwords.policy });
  await expect(withClient(policy, (client) => client.query('SELECT FROM audit.event_log'))).rejects.toThrow(
    'permission denied',
  );
  await expect(withClient(policy, (client) => client.query('CREATE SCHEMA mine'))).rejects.toThrow('permission denied');
});

test('a role of ours that may do more than it should is refused', async () => {
  await asSuperuser('ALTER ROLE hp_policy BYPASSRLS');
  expect(String(await refusal())).toContain('hp_policy is there and may do more');
  await asSuperuser('ALTER ROLE hp_policy NOBYPASSRLS');
});

test('a database that holds something else is refused', async () => {
  await asSuperuser('CREATE DATABASE used OWNER chief');
  await withClient(databaseUrl(adminUrl, 'used'), (client) => client.query('CREATE SCHEMA audit'));
  const url = databaseUrl(adminUrl, 'used');
  await expect(provisionDatabase({ superuserUrl: url, database: 'used', passwords })).rejects.toThrow(
    'the schema audit',
  );
});
