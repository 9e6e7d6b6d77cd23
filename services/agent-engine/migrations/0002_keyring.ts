import { type Kysely, sql } from 'kysely';

/** Services that must read content have a grant; nobody but the engine writes (charter, section 3). */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE keyring.data_keys (
      kid             text PRIMARY KEY,
      space_id        text NOT NULL,
      conversation_id text NOT NULL,
      wrapped         bytea,
      created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
      destroyed_at    timestamptz,
      UNIQUE (space_id, conversation_id),
      CHECK ((wrapped IS NULL) = (destroyed_at IS NOT NULL))
    );
    COMMENT ON TABLE keyring.data_keys IS 'backed-up: one wrapped data key a conversation; destroying it is the erasure';
    GRANT USAGE ON SCHEMA keyring TO hp_agent_engine, hp_policy, hp_staging, hp_audit;
    GRANT SELECT ON keyring.data_keys TO hp_agent_engine, hp_policy, hp_staging, hp_audit;
    GRANT INSERT ON keyring.data_keys TO hp_agent_engine;
    GRANT UPDATE (wrapped, destroyed_at) ON keyring.data_keys TO hp_agent_engine;
  `.execute(db);
}
