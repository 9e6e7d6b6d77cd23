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
  /** Of a superuser; or, when `database` names the one that it owns, of any login that may make roles. */
  superuserUrl: string;
  /** Default: one of our own name, which is made. */
  database?: string;
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
export async function provisionDatabase(options: DatabaseProvisioning): Promise<void> {
  const { superuserUrl, passwords, database = DATABASE_NAME } = options;
  await withClient(superuserUrl, async (client) => {
    if (options.database !== undefined) await refuseWithoutRights(client, options.database);
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
    // Whoever is no superuser makes schemas for the owner only as one of its members.
    await client.query(`GRANT ${id(OWNER_ROLE)} TO CURRENT_USER`);
  });
  await ensureDatabase(superuserUrl, database);
  await withClient(databaseUrl(superuserUrl, database), async (client) => {
    await client.query(`GRANT CONNECT, CREATE ON DATABASE ${id(database)} TO ${id(OWNER_ROLE)}`);
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

/** The login lacks a right, or the database holds what is not ours. The message says what to grant. */
export class CannotProvision extends Error {
  override readonly name = 'CannotProvision';
}

async function refuseWithoutRights(client: pg.Client, database: string): Promise<void> {
  const { rows } = await client.query<{ login: string; roles: boolean; owns: boolean | null; strange: string | null }>(
    `SELECT current_user AS login,
            (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user) AS roles,
            (SELECT pg_has_role(current_user, datdba, 'USAGE') FROM pg_database WHERE datname = $1) AS owns,
            (SELECT min(nspname) FROM pg_namespace WHERE nspname = ANY ($2) AND pg_get_userbyid(nspowner) <> $3) AS strange`,
    [database, [...SERVICES.map(schemaOf), KEYRING_SCHEMA], OWNER_ROLE],
  );
  const { login, roles, owns, strange } = rows[0] ?? { login: '?', roles: false, owns: null, strange: null };
  const faults = [
    ...(roles ? [] : [`${login} may make no roles: ALTER ROLE ${id(login)} CREATEROLE`]),
    ...(owns === null ? [`there is no database ${database}: CREATE DATABASE ${id(database)} OWNER ${id(login)}`] : []),
    ...(owns === false
      ? [`${login} does not own the database: ALTER DATABASE ${id(database)} OWNER TO ${id(login)}`]
      : []),
    ...(strange ? [`the schema ${strange} is there already and not ours: give an empty database`] : []),
  ];
  if (faults.length > 0) throw new CannotProvision(`Holdpoint cannot use this database: ${faults.join('; ')}`);
}

/**
 * A login that can do nothing but what it is granted. Sets the password anew.
 * @throws CannotProvision when there is one of the name that can do more, and only a superuser may take that from it
 */
export async function ensureRole(client: pg.Client, role: string, password: string): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
  if (!rowCount) await client.query(`CREATE ROLE ${id(role)}`);
  const { rows } = await client.query<{ asSuperuser: boolean; excess: boolean }>(
    `SELECT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS "asSuperuser",
            rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls AS excess
     FROM pg_roles WHERE rolname = $1`,
    [role],
  );
  const { asSuperuser, excess } = rows[0] ?? { asSuperuser: false, excess: true };
  if (excess && !asSuperuser)
    throw new CannotProvision(`the role ${role} is there and may do more than it should: DROP ROLE ${id(role)}`);
  const nothing = excess ? 'NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS' : '';
  await client.query(`ALTER ROLE ${id(role)} LOGIN ${nothing} PASSWORD ${pg.escapeLiteral(password)}`);
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
