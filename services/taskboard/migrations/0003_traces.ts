import { type Kysely, sql } from 'kysely';

/** Of which trace a task is part, as its first event said: W3C `traceparent`. It is offered long after that event. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    ALTER TABLE taskboard.tasks
      ADD COLUMN traceparent text CHECK (length(traceparent) <= 64)`.execute(db);
}
