import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceName } from '@holdpoint/contracts';
import {
  DATABASE_NAME,
  type DatabasePasswords,
  databaseUrl,
  endProcess,
  migrate,
  OWNER_ROLE,
  type ProcessIdentity,
  provisionDatabase,
  READER_NAMES,
  SERVICES,
  startPostgres,
} from '@holdpoint/provision';
import { ENVIRONMENT, type TestEnvironment } from './environment.js';

/**
 * One PostgreSQL for a whole test run, with every service's migrations in a template that test files copy. Reads the
 * compiled migrations, so build first. `HOLDPOINT_TEST_MIGRATIONS`, names of services separated by commas or nothing,
 * limits which.
 * Returns what ends it, and every bus server that a test file left running.
 */
export async function setUpTestRun(root: string): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), 'holdpoint-test-'));
  // The `postgres` user, as whom the server runs under root, has to get in.
  await chmod(dir, 0o711);
  await mkdir(join(dir, 'bus'));
  const secret = () => randomBytes(12).toString('hex');
  const postgres = await startPostgres({ dir: join(dir, 'postgres'), password: secret(), durable: false });
  const tearDown = async () => {
    await endLeftOver(join(dir, 'bus'));
    await postgres.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const logins = [...SERVICES, ...READER_NAMES, 'owner'];
    const passwords = Object.fromEntries(logins.map((name) => [name, secret()])) as DatabasePasswords;
    await provisionDatabase({ superuserUrl: postgres.url, passwords });
    await migrate({
      ownerUrl: databaseUrl(postgres.url, DATABASE_NAME, { role: OWNER_ROLE, password: passwords.owner }),
      root,
      services: await toMigrate(root),
    });
    const environment: TestEnvironment = {
      dir,
      postgres: postgres.url,
      template: DATABASE_NAME,
      passwords,
    };
    process.env[ENVIRONMENT] = JSON.stringify(environment);
  } catch (err) {
    await tearDown();
    throw err;
  }
  return tearDown;
}

async function toMigrate(root: string): Promise<ServiceName[]> {
  const only = process.env['HOLDPOINT_TEST_MIGRATIONS'];
  if (only !== undefined) return SERVICES.filter((service) => only.split(',').includes(service));
  const sources = await Promise.all(SERVICES.map((service) => readdir(join(root, 'services', service, 'migrations'))));
  return SERVICES.filter((_, i) => sources[i]?.length);
}

/** A test file that was killed, or forgot, leaves its server running. */
async function endLeftOver(busDir: string): Promise<void> {
  for (const name of await readdir(busDir)) {
    const server = JSON.parse(await readFile(join(busDir, name), 'utf8')) as ProcessIdentity;
    await endProcess(server, 'SIGINT', 5_000);
  }
}
