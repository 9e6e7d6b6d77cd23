import { type Kysely, sql } from 'kysely';

/** Of which trace a held call is part, as its proposal said: W3C `traceparent`. A decision may be a month away. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    ALTER TABLE staging.frozen_calls
      ADD COLUMN traceparent text CHECK (length(traceparent) <= 64)`.execute(db);
}
