import { type Kysely, sql } from 'kysely';

/**
 * Attempts of a claim. A claim of any class but `at-most-once` may be tried again while it is executing, each time under a
 * new fence and a new lease; nothing else about it changes, and it never goes back to where nobody had claimed it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    ALTER TABLE agent_engine.executions
      ADD COLUMN execution_class text NOT NULL DEFAULT 'at-most-once'
        CHECK (execution_class IN ('idempotent', 'keyed', 'reconcilable', 'at-most-once')),
      -- set: no attempt is under way, and the next one may begin then
      ADD COLUMN retry_at timestamptz,
      ADD CHECK (attempt = 1 OR execution_class <> 'at-most-once'),
      ADD CHECK (retry_at IS NULL OR (state = 'executing' AND execution_class <> 'at-most-once'));

    CREATE TABLE agent_engine.attempts (
      call_id    text NOT NULL,
      attempt    integer NOT NULL CHECK (attempt >= 1),
      fence      text NOT NULL UNIQUE,
      engine     text NOT NULL,
      started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      ended_at   timestamptz,
      outcome    text CHECK (outcome IN ('done', 'did-not-happen', 'unknown', 'lapsed')),
      PRIMARY KEY (call_id, attempt),
      CHECK ((ended_at IS NULL) = (outcome IS NULL))
    );
    COMMENT ON TABLE agent_engine.attempts IS 'backed-up: every attempt of a claim, by which engine and how it ended; attempts after the first have no event';

    CREATE OR REPLACE FUNCTION agent_engine.guard_execution() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.state IN ('closed', 'refused', 'abandoned')
         OR (OLD.state = 'in-doubt' AND NEW.state <> 'closed')
         OR NEW.state IN ('refused', 'abandoned')
         OR (NEW.call_id, NEW.space_id, NEW.run_id, NEW.ref, NEW.held, NEW.execution_class)
            IS DISTINCT FROM (OLD.call_id, OLD.space_id, OLD.run_id, OLD.ref, OLD.held, OLD.execution_class)
      THEN RAISE EXCEPTION 'execution % cannot go from % to %', OLD.call_id, OLD.state, NEW.state USING ERRCODE = 'check_violation';
      END IF;
      IF (NEW.attempt, NEW.fence) IS DISTINCT FROM (OLD.attempt, OLD.fence)
         AND NOT (OLD.state = 'executing' AND NEW.state = 'executing' AND NEW.attempt = OLD.attempt + 1 AND NEW.fence <> OLD.fence)
      THEN RAISE EXCEPTION 'execution %: attempt % cannot follow attempt %', OLD.call_id, NEW.attempt, OLD.attempt USING ERRCODE = 'check_violation';
      END IF;
      RETURN NEW;
    END $$;

    -- a call that a person proposed anew: it is a call of the same run, and whoever follows it says so here
    ALTER TABLE agent_engine.calls
      ADD COLUMN anew_of text UNIQUE,
      ADD COLUMN followed_at timestamptz;
    CREATE INDEX calls_anew ON agent_engine.calls (call_id) WHERE anew_of IS NOT NULL AND answer IS NULL;

    GRANT SELECT, INSERT ON agent_engine.attempts TO hp_agent_engine;
    GRANT UPDATE (ended_at, outcome) ON agent_engine.attempts TO hp_agent_engine;
  `.execute(db);
}
