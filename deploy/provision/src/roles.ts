import type { ServiceName } from '@holdpoint/contracts';
import pg from 'pg';
import {
  DATABASE_NAME,
  KEYRING_SCHEMA,
  OWNER_ROLE,
  READER_NAMES,
  READERS,
  type ReaderName,
  roleOf,
  SERVICES,
  schemaOf,
} from './names.js';

export type DatabasePasswords = Record<ServiceName | ReaderName | 'owner', string>;

export interface DatabaseProvisioning {
  /** A superuser's URL; its database only serves to connect. */
  superuserUrl: string;
  passwords: DatabasePasswords;
}

const id = pg.escapeIdentifier;
const SERVICE_ROLES = SERVICES.map(roleOf);
const READER_ROLES = READER_NAMES.map((name) => READERS[name].role);

/** The same server and credentials, another database (and another login). */
export function databaseUrl(base: string, database: string, login?: { role: string; password: string }): string {
  const url = new URL(base);
  url.pathname = `/${database}`;
  if (login) {
    url.username = login.role;
    url.password = login.password;
  }
  return url.href;
}

/** Roles, database and schemas of the whole system. Idempotent; sets the passwords anew. */
export async function provisionDatabase({ superuserUrl, passwords }: DatabaseProvisioning): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    await ensureRole(client, OWNER_ROLE, passwords.owner);
    for (const service of SERVICES) {
      await ensureRole(client, roleOf(service), passwords[service]);
      await client.query(`ALTER ROLE ${id(roleOf(service))} SET search_path = ${id(schemaOf(service))}`);
    }
    for (const name of READER_NAMES) {
      const { role, service } = READERS[name];
      await ensureRole(client, role, passwords[name]);
      await client.query(`ALTER ROLE ${id(role)} SET search_path = ${id(schemaOf(service))}`);
      // Its grants are to read alone; this makes the slip of a later grant harmless too.
      await client.query(`ALTER ROLE ${id(role)} SET default_transaction_read_only = on`);
    }
  });
  await ensureDatabase(superuserUrl, DATABASE_NAME);
  await withClient(databaseUrl(superuserUrl, DATABASE_NAME), async (client) => {
    await client.query('REVOKE ALL ON SCHEMA public FROM PUBLIC');
    for (const service of SERVICES) await ensureSchema(client, schemaOf(service), roleOf(service));
    for (const { role, service } of Object.values(READERS)) await ensureSchema(client, schemaOf(service), role);
    await ensureSchema(client, KEYRING_SCHEMA, ...SERVICE_ROLES);
  });
}

/** A database that the owner owns and only the services may connect to. A template's copy does not inherit these grants. */
export async function ensureDatabase(superuserUrl: string, name: string, template?: string): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (!rowCount)
      await client.query(
        `CREATE DATABASE ${id(name)} OWNER ${id(OWNER_ROLE)}${template ? ` TEMPLATE ${id(template)}` : ''}`,
      );
    await client.query(`REVOKE ALL ON DATABASE ${id(name)} FROM PUBLIC`);
    await client.query(
      `GRANT CONNECT ON DATABASE ${id(name)} TO ${[...SERVICE_ROLES, ...READER_ROLES].map(id).join(', ')}`,
    );
  });
}

/** A login that can do nothing but what it is granted. Sets the password anew. */
export async function ensureRole(client: pg.Client, role: string, password: string): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
  if (!rowCount) await client.query(`CREATE ROLE ${id(role)}`);
  await client.query(
    `ALTER ROLE ${id(role)} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD ${pg.escapeLiteral(password)}`,
  );
}

async function ensureSchema(client: pg.Client, schema: string, ...users: string[]): Promise<void> {
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${id(schema)} AUTHORIZATION ${id(OWNER_ROLE)}`);
  await client.query(`GRANT USAGE ON SCHEMA ${id(schema)} TO ${users.map(id).join(', ')}`);
}

export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  // A lost connection also rejects the query under way; without a listener it would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
