import { eventingTables } from '@holdpoint/eventing';
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await eventingTables(db, 'agent_engine', 'hp_agent_engine');
  await sql`
    CREATE TABLE agent_engine.conversations (
      conversation_id text PRIMARY KEY,
      space_id        text NOT NULL,
      agent           text NOT NULL,
      principal_kind  text NOT NULL CHECK (principal_kind IN ('person', 'service', 'unknown')),
      principal_id    text NOT NULL,
      created_at      timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    COMMENT ON TABLE agent_engine.conversations IS 'backed-up: who talks with which agent';

    CREATE TABLE agent_engine.runs (
      run_id            text PRIMARY KEY,
      space_id          text NOT NULL,
      conversation_id   text NOT NULL REFERENCES agent_engine.conversations ON DELETE RESTRICT,
      agent             text NOT NULL,
      model             text NOT NULL,
      source            text NOT NULL,
      principal_kind    text NOT NULL CHECK (principal_kind IN ('person', 'service', 'unknown')),
      principal_id      text NOT NULL,
      task_id           text,
      attempt           integer CHECK (attempt >= 1),
      prompt            text NOT NULL,
      state             text NOT NULL CHECK (state IN ('queued', 'running', 'ok', 'failed', 'interrupted', 'cancelled')),
      reason            text,
      steps             integer NOT NULL DEFAULT 0 CHECK (steps >= 0),
      prompt_tokens     integer NOT NULL DEFAULT 0,
      completion_tokens integer NOT NULL DEFAULT 0,
      cached_tokens     integer NOT NULL DEFAULT 0,
      result            text,
      engine            text,
      heartbeat_at      timestamptz,
      cancel_requested  boolean NOT NULL DEFAULT false,
      queued_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      started_at        timestamptz,
      completed_at      timestamptz,
      CHECK ((task_id IS NULL) = (attempt IS NULL)),
      CHECK ((state = 'running') <= (engine IS NOT NULL AND heartbeat_at IS NOT NULL AND started_at IS NOT NULL)),
      CHECK ((state IN ('queued', 'running')) = (completed_at IS NULL))
    );
    COMMENT ON TABLE agent_engine.runs IS 'backed-up: runs and their receipts; the events repeat every column but the lease';
    -- charter section 7: one run a task and attempt, one running run a conversation
    CREATE UNIQUE INDEX runs_task_attempt ON agent_engine.runs (task_id, attempt) WHERE task_id IS NOT NULL;
    CREATE UNIQUE INDEX runs_one_running ON agent_engine.runs (conversation_id) WHERE state = 'running';
    CREATE INDEX runs_queued ON agent_engine.runs (queued_at) WHERE state = 'queued';

    CREATE TABLE agent_engine.turns (
      conversation_id text NOT NULL REFERENCES agent_engine.conversations ON DELETE RESTRICT,
      position        integer NOT NULL CHECK (position >= 1),
      run_id          text NOT NULL REFERENCES agent_engine.runs ON DELETE RESTRICT,
      role            text NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
      content         text NOT NULL,
      created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (conversation_id, position)
    );
    COMMENT ON TABLE agent_engine.turns IS 'backed-up: what was said, sealed';

    CREATE TABLE agent_engine.calls (
      call_id          text PRIMARY KEY,
      run_id           text NOT NULL REFERENCES agent_engine.runs ON DELETE RESTRICT,
      space_id         text NOT NULL,
      step             integer NOT NULL CHECK (step >= 1),
      position         integer NOT NULL CHECK (position >= 0),
      provider_call_id text NOT NULL,
      ref              text,
      hint             text CHECK (hint IN ('read', 'write', 'destructive')),
      answer           text,
      UNIQUE (run_id, step, position)
    );
    COMMENT ON TABLE agent_engine.calls IS 'backed-up: the calls of a round until each is answered, so that a lost run can be closed';

    CREATE TABLE agent_engine.executions (
      call_id      text PRIMARY KEY,
      space_id     text NOT NULL,
      run_id       text NOT NULL,
      ref          text NOT NULL,
      held         boolean NOT NULL,
      state        text NOT NULL CHECK (state IN ('executing', 'in-doubt', 'closed', 'refused', 'abandoned')),
      attempt      integer NOT NULL CHECK (attempt >= 1),
      fence        text NOT NULL,
      lease_until  timestamptz NOT NULL,
      timeout_ms   integer NOT NULL CHECK (timeout_ms > 0),
      doubt_reason text,
      claimed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      changed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      CHECK ((state = 'in-doubt') <= (doubt_reason IS NOT NULL))
    );
    COMMENT ON TABLE agent_engine.executions IS 'from-stream: one claim a call; its existence is the permission to have tried';
    CREATE INDEX executions_open ON agent_engine.executions (lease_until) WHERE state = 'executing';
    CREATE INDEX executions_doubt ON agent_engine.executions (changed_at) WHERE state = 'in-doubt';

    -- A claim never goes back: what is executing ends closed or in doubt, what is closed stays closed (guarantee G4).
    CREATE FUNCTION agent_engine.guard_execution() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.state IN ('closed', 'refused', 'abandoned')
         OR (OLD.state = 'in-doubt' AND NEW.state <> 'closed')
         OR NEW.state IN ('refused', 'abandoned')
         OR (NEW.call_id, NEW.space_id, NEW.run_id, NEW.ref, NEW.held) IS DISTINCT FROM (OLD.call_id, OLD.space_id, OLD.run_id, OLD.ref, OLD.held)
      THEN RAISE EXCEPTION 'execution % cannot go from % to %', OLD.call_id, OLD.state, NEW.state USING ERRCODE = 'check_violation';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER guard_execution BEFORE UPDATE ON agent_engine.executions FOR EACH ROW EXECUTE FUNCTION agent_engine.guard_execution();
    ALTER TABLE agent_engine.executions ENABLE ALWAYS TRIGGER guard_execution;

    GRANT SELECT, INSERT ON agent_engine.conversations, agent_engine.turns TO hp_agent_engine;
    GRANT SELECT, INSERT, UPDATE ON agent_engine.runs, agent_engine.calls, agent_engine.executions TO hp_agent_engine;
  `.execute(db);
}
