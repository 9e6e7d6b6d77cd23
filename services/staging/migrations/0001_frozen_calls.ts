import { eventingTables } from '@holdpoint/eventing';
import { type Kysely, sql } from 'kysely';

/**
 * A frozen call is pending until exactly one decision closes it; what was frozen never changes, and what is closed stays
 * closed. Grants, checks and triggers say so too, for a fault in the service must not be able to release anything.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await eventingTables(db, 'staging', 'hp_staging');
  await sql`
    CREATE TABLE staging.counters (
      space_id text PRIMARY KEY,
      last     integer NOT NULL CHECK (last >= 1)
    );
    COMMENT ON TABLE staging.counters IS 'derived: the highest number given to a held call of each space';

    CREATE TABLE staging.frozen_calls (
      call_id         text PRIMARY KEY,
      space_id        text NOT NULL,
      number          integer NOT NULL CHECK (number >= 1),
      run_id          text NOT NULL,
      conversation_id text NOT NULL,
      task_id         text,
      agent           text NOT NULL,
      model           text NOT NULL,
      source          text NOT NULL,
      principal_kind  text NOT NULL CHECK (principal_kind IN ('person', 'service', 'unknown')),
      principal_id    text NOT NULL,
      server          text NOT NULL,
      tool            text NOT NULL,
      action          text,
      schema_digest   text NOT NULL CHECK (schema_digest ~ '^[0-9a-f]{64}$'),
      digest          text NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
      frozen          text NOT NULL,
      hint            text NOT NULL CHECK (hint IN ('read', 'write', 'destructive')),
      scope           text NOT NULL CHECK (scope IN ('user', 'admin')),
      origin          text NOT NULL CHECK (origin IN ('builtin', 'foreign')),
      flags           text[] NOT NULL,
      rule            text NOT NULL,
      policy_version  text NOT NULL,
      verdict_seq     bigint NOT NULL CHECK (verdict_seq >= 1),
      staged_at       timestamptz(3) NOT NULL,
      expires_at      timestamptz(3) NOT NULL CHECK (expires_at > staged_at),

      status          text NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'withdrawn')),
      decided_at      timestamptz(3),
      decided_by      text,
      cause           text CHECK (cause IN ('person', 'deadline', 'policy-denied', 'revised')),
      decided_under   text,
      reason          text,
      execution       text CHECK (execution IN ('waiting', 'executing', 'in-doubt', 'closed')),
      execution_seq   bigint,
      outcome         text CHECK (outcome IN ('Ok', 'Error', 'Denied', 'NotFound')),

      UNIQUE (space_id, number),
      CHECK ((status = 'pending') = (decided_at IS NULL)),
      CHECK ((status = 'pending') = (cause IS NULL)),
      CHECK ((status = 'pending') = (decided_under IS NULL)),
      -- who decided is known exactly when a person did
      CHECK ((decided_by IS NOT NULL) = (cause IS NOT NULL AND cause IN ('person', 'revised'))),
      CHECK (status NOT IN ('approved', 'rejected') OR cause = 'person'),
      CHECK (status <> 'withdrawn' OR cause IN ('policy-denied', 'revised')),
      CHECK ((status = 'expired') = (cause IS NOT NULL AND cause = 'deadline')),
      -- an approval was in time; what expired was not
      CHECK (status <> 'approved' OR decided_at < expires_at),
      CHECK (status <> 'expired' OR decided_at >= expires_at),
      CHECK (reason IS NULL OR decided_by IS NOT NULL),
      CHECK ((status = 'approved') = (execution IS NOT NULL)),
      CHECK ((execution IS NOT NULL AND execution = 'closed') = (outcome IS NOT NULL)),
      CHECK (execution_seq IS NULL OR execution IN ('executing', 'in-doubt', 'closed'))
    );
    COMMENT ON TABLE staging.frozen_calls IS 'from-stream: one row a held call, its one decision, and what became of it';
    CREATE INDEX frozen_calls_space ON staging.frozen_calls (space_id, status, call_id);
    CREATE INDEX frozen_calls_due ON staging.frozen_calls (expires_at) WHERE status = 'pending';

    CREATE FUNCTION staging.guard_frozen_call() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      decision constant text[] := ARRAY['status', 'decided_at', 'decided_by', 'cause', 'decided_under', 'reason'];
      outcome  constant text[] := ARRAY['execution', 'execution_seq', 'outcome'];
    BEGIN
      IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'pending' THEN
          RAISE EXCEPTION 'call % is not pending from the start', NEW.call_id USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
      END IF;
      IF TG_OP <> 'UPDATE' THEN
        RAISE EXCEPTION 'frozen calls are kept' USING ERRCODE = 'check_violation';
      END IF;
      IF to_jsonb(NEW) - decision - outcome IS DISTINCT FROM to_jsonb(OLD) - decision - outcome THEN
        RAISE EXCEPTION 'call % is frozen', OLD.call_id USING ERRCODE = 'check_violation';
      END IF;
      IF OLD.status <> 'pending' AND to_jsonb(NEW) - outcome IS DISTINCT FROM to_jsonb(OLD) - outcome THEN
        RAISE EXCEPTION 'call % is decided', OLD.call_id USING ERRCODE = 'check_violation';
      END IF;
      IF OLD.execution = 'closed' OR (OLD.execution IS NOT NULL AND NEW.execution = 'waiting') THEN
        RAISE EXCEPTION 'call % cannot go from % to %', OLD.call_id, OLD.execution, NEW.execution USING ERRCODE = 'check_violation';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER guard_row BEFORE INSERT OR UPDATE OR DELETE ON staging.frozen_calls
      FOR EACH ROW EXECUTE FUNCTION staging.guard_frozen_call();
    CREATE TRIGGER guard_table BEFORE TRUNCATE ON staging.frozen_calls
      FOR EACH STATEMENT EXECUTE FUNCTION staging.guard_frozen_call();
    ALTER TABLE staging.frozen_calls ENABLE ALWAYS TRIGGER guard_row;
    ALTER TABLE staging.frozen_calls ENABLE ALWAYS TRIGGER guard_table;

    GRANT SELECT, INSERT, UPDATE ON staging.counters TO hp_staging;
    GRANT SELECT, INSERT ON staging.frozen_calls TO hp_staging;
    GRANT UPDATE (status, decided_at, decided_by, cause, decided_under, reason, execution, execution_seq, outcome)
      ON staging.frozen_calls TO hp_staging;
  `.execute(db);
}
