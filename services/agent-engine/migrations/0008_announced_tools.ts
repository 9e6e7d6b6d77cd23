import { type Kysely, sql } from 'kysely';

/** What was last told of each tool of a space, so that only what has changed is told again, by one engine of several. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE agent_engine.announced_tools (
      space_id     text NOT NULL CHECK (space_id ~ '^[a-z0-9_-]{1,64}$'),
      server       text NOT NULL,
      tool         text NOT NULL,
      -- the data of the last tool.announced, as JSON text
      announced    text NOT NULL,
      announced_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (space_id, server, tool)
    );
    COMMENT ON TABLE agent_engine.announced_tools IS 'derived: what was last announced of each tool; what is missing here is announced once more';
    GRANT SELECT, INSERT (space_id, server, tool, announced), UPDATE (announced, announced_at)
      ON agent_engine.announced_tools TO hp_agent_engine;
  `.execute(db);
}
