import { type Memberships, openDatabase, registerHealth, type Standing } from '@holdpoint/runtime';
import type { OnApplicationShutdown } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import type { PolicyDatabase } from './schema.js';

/** What decisions and other services are answered from: every space, read-only, by a login of its own. */
export class DecisionsDatabase implements Memberships, OnApplicationShutdown {
  /** Autocommit only: each query sees the rows as they are at its beginning. */
  readonly db: Kysely<PolicyDatabase>;
  readonly #unregister: () => void;

  constructor(url: string, max: number) {
    this.db = openDatabase(url, { max, applicationName: 'policy reader' });
    this.#unregister = registerHealth('decisions-database', async () => {
      await sql`select 1`.execute(this.db);
    });
  }

  /** Roles and groups as the rows are at this moment. */
  async standingOf(userId: string): Promise<Required<Standing>> {
    const rows = await this.db
      .selectFrom('space_members')
      .select(['space_id', 'role', 'groups'])
      .where('user_id', '=', userId)
      .execute();
    return {
      spaces: Object.fromEntries(rows.map((row) => [row.space_id, row.role])),
      groups: Object.fromEntries(rows.map((row) => [row.space_id, row.groups])),
    };
  }

  async onApplicationShutdown(): Promise<void> {
    this.#unregister();
    await this.db.destroy();
  }
}
