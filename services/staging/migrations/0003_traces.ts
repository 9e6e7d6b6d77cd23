import { type Kysely, sql } from 'kysely';

/** Of which trace a held call is part, as its proposal said: W3C `traceparent`. A decision may be a month away. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    ALTER TABLE staging.frozen_calls
      ADD COLUMN traceparent text CHECK (traceparent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$')`.execute(db);
}
