import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE agent_engine.summaries (
      conversation_id text NOT NULL,
      covers          integer NOT NULL,
      run_id          text NOT NULL REFERENCES agent_engine.runs ON DELETE RESTRICT,
      content         text NOT NULL,
      created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (conversation_id, covers),
      -- what is covered exists, and stays
      FOREIGN KEY (conversation_id, covers) REFERENCES agent_engine.turns (conversation_id, position) ON DELETE RESTRICT
    );
    COMMENT ON TABLE agent_engine.summaries IS 'backed-up: stands in prompts for the turns up to a position; sealed';
    GRANT SELECT, INSERT ON agent_engine.summaries TO hp_agent_engine;

    -- the next run of a conversation is its oldest one
    CREATE INDEX runs_waiting ON agent_engine.runs (conversation_id, queued_at, run_id) WHERE state = 'queued';
  `.execute(db);
}
