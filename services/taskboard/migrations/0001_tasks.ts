import { eventingTables } from '@holdpoint/eventing';
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await eventingTables(db, 'taskboard', 'hp_taskboard');
  await sql`
    CREATE TABLE taskboard.tasks (
      task_id           text PRIMARY KEY,
      space_id          text NOT NULL,
      kind              text NOT NULL CHECK (kind IN ('wake-up', 'prompt')),
      call_id           text UNIQUE,
      conversation_id   text NOT NULL,
      agent             text NOT NULL,
      work              text NOT NULL,
      created_by_kind   text NOT NULL CHECK (created_by_kind IN ('person', 'service', 'unknown')),
      created_by_id     text NOT NULL,
      state             text NOT NULL CHECK (state IN ('open', 'offered', 'accepted', 'running', 'done', 'dead', 'cancelled')),
      attempt           integer NOT NULL,
      attempt_limit     integer NOT NULL,
      due_at            timestamptz(3) NOT NULL,
      lease_until       timestamptz(3),
      run_id            text,
      reason            text,
      cancelled_by_kind text CHECK (cancelled_by_kind IN ('person', 'service', 'unknown')),
      cancelled_by_id   text,
      created_at        timestamptz(3) NOT NULL,
      updated_at        timestamptz(3) NOT NULL,
      -- a wake-up's id derives from its call: at most one a call
      CHECK ((kind = 'wake-up') = (call_id IS NOT NULL)),
      CHECK (kind <> 'wake-up' OR task_id = 'wake-' || call_id),
      -- five attempts, and five more each time a person opens the dead task again; a number is never used twice
      CHECK (attempt BETWEEN 1 AND attempt_limit),
      CHECK (state <> 'dead' OR attempt = attempt_limit),
      CHECK ((state = 'offered') = (lease_until IS NOT NULL)),
      CHECK (state NOT IN ('open', 'offered') OR run_id IS NULL),
      CHECK (state NOT IN ('accepted', 'running', 'done') OR run_id IS NOT NULL),
      CHECK (state NOT IN ('dead', 'cancelled') OR reason IS NOT NULL),
      CHECK ((state = 'cancelled') = (cancelled_by_kind IS NOT NULL)),
      CHECK ((cancelled_by_kind IS NULL) = (cancelled_by_id IS NULL))
    );
    COMMENT ON TABLE taskboard.tasks IS 'from-stream: one row a task, the fold of its events; the lease alone is ephemeral';
    CREATE INDEX tasks_due ON taskboard.tasks (due_at) WHERE state = 'open';
    CREATE INDEX tasks_lease ON taskboard.tasks (lease_until) WHERE state = 'offered';
    CREATE INDEX tasks_space ON taskboard.tasks (space_id, created_at DESC, task_id DESC);
    CREATE INDEX tasks_conversation ON taskboard.tasks (conversation_id);

    -- What is done or cancelled stays so, an attempt never comes back, and what a task is about never changes.
    CREATE FUNCTION taskboard.guard_task() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (OLD.state IN ('done', 'cancelled') AND NEW.state <> OLD.state)
         OR (OLD.state = 'dead' AND NEW.state NOT IN ('dead', 'open', 'cancelled'))
         OR NEW.attempt < OLD.attempt
         OR (NEW.task_id, NEW.space_id, NEW.kind, NEW.call_id, NEW.work) IS DISTINCT FROM (OLD.task_id, OLD.space_id, OLD.kind, OLD.call_id, OLD.work)
      THEN RAISE EXCEPTION 'task % cannot go from % to %', OLD.task_id, OLD.state, NEW.state USING ERRCODE = 'check_violation';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER guard_task BEFORE UPDATE ON taskboard.tasks FOR EACH ROW EXECUTE FUNCTION taskboard.guard_task();
    ALTER TABLE taskboard.tasks ENABLE ALWAYS TRIGGER guard_task;

    CREATE TABLE taskboard.approvals (
      call_id  text PRIMARY KEY,
      space_id text NOT NULL,
      number   integer NOT NULL CHECK (number >= 1),
      by_kind  text CHECK (by_kind IN ('person', 'service', 'unknown')),
      by_id    text,
      CHECK ((by_kind IS NULL) = (by_id IS NULL))
    );
    COMMENT ON TABLE taskboard.approvals IS 'from-stream: number and decider of each approved call, for the wake-up after its execution';

    GRANT SELECT, INSERT, UPDATE ON taskboard.tasks TO hp_taskboard;
    GRANT SELECT, INSERT ON taskboard.approvals TO hp_taskboard;
  `.execute(db);
}
