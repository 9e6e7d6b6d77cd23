import { randomBytes } from 'node:crypto';
import type { ServiceName } from '@holdpoint/contracts';
import {
  databaseUrl,
  ensureDatabase,
  OWNER_ROLE,
  READERS,
  type ReaderName,
  roleOf,
  withClient,
} from '@holdpoint/provision';
import { testEnvironment } from './environment.js';

export type DatabaseRole = ServiceName | ReaderName | 'owner' | 'superuser';

export interface TestDatabase {
  name: string;
  /** The database as a service sees it, as the owner of its tables, or as superuser. */
  url(role: DatabaseRole): string;
  /** Cuts what is still connected and drops it. */
  drop(): Promise<void>;
}

/** A database of its own for a test file, with every service's migrations applied. Roles and grants are the real ones. */
export async function testDatabase(): Promise<TestDatabase> {
  const { postgres, template, passwords } = testEnvironment();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await ensureDatabase(postgres, name, template);
  return {
    name,
    url: (role) => {
      if (role === 'superuser') return databaseUrl(postgres, name);
      return databaseUrl(postgres, name, { role: loginOf(role), password: passwords[role] });
    },
    drop: () =>
      withClient(postgres, async (client) => {
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }),
  };
}

function loginOf(role: Exclude<DatabaseRole, 'superuser'>): string {
  if (role === 'owner') return OWNER_ROLE;
  return role in READERS ? READERS[role as ReaderName].role : roleOf(role as ServiceName);
}
