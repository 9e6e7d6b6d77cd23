import fs from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ServiceName } from '@holdpoint/contracts';
import { Kysely, PostgresDialect } from 'kysely';
import { FileMigrationProvider, Migrator } from 'kysely/migration';
import pg from 'pg';
import { SERVICES, schemaOf } from './names.js';

export interface Migrations {
  /** The database, as its owner role. */
  ownerUrl: string;
  /** The repository's root: `services/<name>/dist/migrations` is found below it. */
  root: string;
  /** In this order. Default: all. */
  services?: readonly ServiceName[];
}

/** Names the service and the migration that failed; the database's own error is the cause. */
export class MigrationFailed extends Error {
  override name = 'MigrationFailed';
}

/**
 * Brings every service's schema up to date from its compiled migrations, each in a transaction of its own service and with
 * a record of its own (`<schema>.kysely_migration`). Returns what was applied, as `service/migration`.
 * @throws MigrationFailed
 */
export async function migrate({ ownerUrl, root, services = SERVICES }: Migrations): Promise<string[]> {
  const applied: string[] = [];
  for (const service of services) applied.push(...(await migrateService(ownerUrl, root, service)));
  return applied;
}

async function migrateService(ownerUrl: string, root: string, service: ServiceName): Promise<string[]> {
  const migrationFolder = path.join(root, 'services', service, 'dist', 'migrations');
  const schema = schemaOf(service);
  const pool = new pg.Pool({
    connectionString: ownerUrl,
    max: 1,
    application_name: `migrate-${service}`,
    options: `-c search_path=${schema}`,
  });
  pool.on('error', () => {});
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  try {
    await fs.access(migrationFolder).catch((cause) => {
      throw new MigrationFailed(`${service}: no compiled migrations in ${migrationFolder}; build first`, {
        cause,
      });
    });
    const migrator = new Migrator({
      db,
      provider: new FileMigrationProvider({
        fs,
        path,
        migrationFolder,
        import: (file) => import(pathToFileURL(file).href),
      }),
      migrationTableSchema: schema,
    });
    const { error, results = [] } = await migrator.migrateToLatest();
    if (error) {
      const failed = results.find((r) => r.status === 'Error')?.migrationName;
      const why = error instanceof Error ? error.message : String(error);
      throw new MigrationFailed(`${service}${failed ? `/${failed}` : ''}: ${why}`, { cause: error });
    }
    return results.map((r) => `${service}/${r.migrationName}`);
  } finally {
    await db.destroy();
  }
}
