import { type Kysely, sql } from 'kysely';

/** What a run has cost is counted round by round: which rounds are missing from it is forgotten otherwise. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    ALTER TABLE agent_engine.runs
      ADD COLUMN cost_amount text NOT NULL DEFAULT '0' CHECK (cost_amount ~ '^[0-9]{1,12}([.][0-9]{1,12})?$'),
      ADD COLUMN cost_known boolean NOT NULL DEFAULT true;
  `.execute(db);
}
