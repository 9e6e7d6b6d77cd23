import { type Kysely, sql } from 'kysely';

/**
 * Creates `<schema>.outbox`, `.inbox` and `.dead_letters`, owned by whoever runs the migration, with exactly the grants
 * that the service's role needs: it can neither rewrite an event nor forget one. Call it in the service's first migration.
 */
// biome-ignore lint/suspicious/noExplicitAny: a migration runs against any schema
export async function eventingTables(db: Kysely<any>, schema: string, role: string): Promise<void> {
  const to = sql.id(role);
  const [outbox, inbox, deadLetters] = ['outbox', 'inbox', 'dead_letters'].map((t) => sql.id(schema, t));

  await sql`
    CREATE TABLE ${outbox} (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      event_id text NOT NULL UNIQUE,
      entity text NOT NULL,
      subject text NOT NULL,
      body text NOT NULL,
      once boolean NOT NULL,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      sent_at timestamptz,
      seq bigint,
      failed text,
      CHECK ((sent_at IS NULL) = (seq IS NULL)),
      CHECK (sent_at IS NULL OR failed IS NULL)
    )`.execute(db);
  await sql`CREATE INDEX outbox_unsent ON ${outbox} (id) WHERE sent_at IS NULL AND failed IS NULL`.execute(db);
  await sql`CREATE INDEX outbox_failed ON ${outbox} (entity) WHERE failed IS NOT NULL`.execute(db);
  await sql`GRANT SELECT, INSERT (event_id, entity, subject, body, once), UPDATE (sent_at, seq, failed) ON ${outbox} TO ${to}`.execute(
    db,
  );
  await describe(
    db,
    outbox,
    'ephemeral: facts on their way to the stream, written with the row they tell of; once sent, the stream has them',
  );

  await sql`
    CREATE TABLE ${inbox} (
      consumer text NOT NULL,
      event_id text NOT NULL,
      stream_seq bigint NOT NULL,
      received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (consumer, event_id)
    )`.execute(db);
  await sql`GRANT SELECT, INSERT (consumer, event_id, stream_seq) ON ${inbox} TO ${to}`.execute(db);
  await describe(
    db,
    inbox,
    'from-stream: events whose effect is in this schema, each in the transaction of its effect',
  );

  await sql`
    CREATE TABLE ${deadLetters} (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      consumer text NOT NULL,
      stream_seq bigint NOT NULL,
      subject text NOT NULL,
      stream_time timestamptz NOT NULL,
      body bytea NOT NULL,
      replayable boolean NOT NULL,
      attempts integer NOT NULL CHECK (attempts > 0),
      last_error text NOT NULL,
      state text NOT NULL CHECK (state IN ('failing', 'recovered', 'dead', 'replayed')),
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (consumer, stream_seq)
    )`.execute(db);
  await sql`
    GRANT SELECT, INSERT (consumer, stream_seq, subject, stream_time, body, replayable, attempts, last_error, state),
      UPDATE (attempts, last_error, state, updated_at) ON ${deadLetters} TO ${to}`.execute(db);
  await describe(
    db,
    deadLetters,
    'ephemeral: deliveries that this service could not handle; the messages stay in the stream',
  );
}

// biome-ignore lint/suspicious/noExplicitAny: a migration runs against any schema
async function describe(db: Kysely<any>, table: ReturnType<typeof sql.id> | undefined, text: string): Promise<void> {
  await sql`COMMENT ON TABLE ${table} IS ${sql.lit(text)}`.execute(db);
}
