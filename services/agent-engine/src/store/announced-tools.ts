import { type Kysely, sql, type Transaction } from 'kysely';
import type { Announcement } from '../tools/announcement.js';
import type { Database } from './schema.js';

/** What was last announced of each tool. */
export const announcedTools = {
  /** All of it; until the transaction ends nobody else reads it to announce. */
  async lock(tx: Transaction<Database>): Promise<{ spaceId: string; data: Announcement }[]> {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended('holdpoint.announced-tools', 0))`.execute(tx);
    const rows = await tx.selectFrom('announced_tools').select(['space_id', 'announced']).execute();
    return rows.map((r) => ({ spaceId: r.space_id, data: JSON.parse(r.announced) as Announcement }));
  },

  async write(tx: Kysely<Database>, spaceId: string, data: Announcement): Promise<void> {
    const announced = JSON.stringify(data);
    await tx
      .insertInto('announced_tools')
      .values({ space_id: spaceId, server: data.server, tool: data.tool, announced })
      .onConflict((c) =>
        c.columns(['space_id', 'server', 'tool']).doUpdateSet({ announced, announced_at: sql`clock_timestamp()` }),
      )
      .execute();
  },
};
