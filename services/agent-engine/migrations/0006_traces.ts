import { type Kysely, sql } from 'kysely';

/** Of which trace a run and a claim are part, for whichever instance goes on with them: W3C `traceparent`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['runs', 'executions'])
    await sql`
      ALTER TABLE ${sql.id('agent_engine', table)}
        ADD COLUMN traceparent text CHECK (length(traceparent) <= 64)`.execute(db);
}
