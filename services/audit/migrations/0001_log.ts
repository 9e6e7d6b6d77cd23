import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE audit.event_log (
      stream_seq      bigint PRIMARY KEY CHECK (stream_seq >= 1),
      subject         text NOT NULL,
      body            bytea NOT NULL,
      stored_at       timestamptz NOT NULL,
      event_id        text,
      type            text,
      space_id        text,
      run_id          text,
      call_id         text,
      task_id         text,
      conversation_id text,
      fault           text,
      duplicate       boolean NOT NULL,
      logged_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- what cannot be read is logged without an index, and says why
      CHECK ((fault IS NULL) = (event_id IS NOT NULL)),
      CHECK (num_nulls(event_id, type, space_id) IN (0, 3)),
      CHECK (fault IS NULL OR num_nonnulls(run_id, call_id, task_id, conversation_id) = 0),
      CHECK (fault IS NULL OR NOT duplicate)
    );
    COMMENT ON TABLE audit.event_log IS 'backed-up: every message of the stream, byte for byte, in stream order; the stream is refilled from it';
    COMMENT ON COLUMN audit.event_log.stored_at IS 'the stream''s clock';
    COMMENT ON COLUMN audit.event_log.duplicate IS 'id, subject and body stand at a lower sequence too; nothing is derived from it again';
    CREATE INDEX event_log_event ON audit.event_log (event_id) WHERE event_id IS NOT NULL;
    CREATE INDEX event_log_run ON audit.event_log (run_id, stream_seq) WHERE run_id IS NOT NULL;
    CREATE INDEX event_log_call ON audit.event_log (call_id, stream_seq) WHERE call_id IS NOT NULL;
    CREATE INDEX event_log_task ON audit.event_log (task_id, stream_seq) WHERE task_id IS NOT NULL;
    CREATE INDEX event_log_fault ON audit.event_log (stream_seq) WHERE fault IS NOT NULL;

    CREATE TABLE audit.audit_log (
      stream_seq      bigint PRIMARY KEY REFERENCES audit.event_log ON DELETE RESTRICT,
      event_id        text NOT NULL,
      at              timestamptz NOT NULL,
      kind            text NOT NULL CHECK (kind IN ('outcome', 'staging', 'decision')),
      space_id        text NOT NULL,
      run_id          text,
      task_id         text,
      call_id         text NOT NULL,
      conversation_id text NOT NULL,
      agent           text NOT NULL,
      model           text NOT NULL,
      source          text NOT NULL,
      principal_kind  text NOT NULL CHECK (principal_kind IN ('person', 'service', 'unknown')),
      principal_id    text NOT NULL,
      server          text NOT NULL,
      tool            text NOT NULL,
      action          text,
      status          text NOT NULL CHECK (status IN ('Ok', 'Error', 'Denied', 'NotFound', 'Staged')),
      arguments_seq   bigint,
      note            text NOT NULL CHECK (char_length(note) <= 500),
      note_seq        bigint,
      CHECK ((kind = 'staging') = (status = 'Staged')),
      CHECK (kind <> 'decision' OR (source = 'approval' AND status IN ('Ok', 'Denied')))
    );
    COMMENT ON TABLE audit.audit_log IS 'derived: from event_log, in the same transaction (seed 003); content is named by its sequence and stays sealed';
    CREATE INDEX audit_log_space ON audit.audit_log (space_id, stream_seq);
    CREATE INDEX audit_log_run ON audit.audit_log (run_id, stream_seq) WHERE run_id IS NOT NULL;
    CREATE INDEX audit_log_task ON audit.audit_log (task_id, stream_seq) WHERE task_id IS NOT NULL;
    CREATE INDEX audit_log_call ON audit.audit_log (call_id, stream_seq);
    CREATE INDEX audit_log_tool ON audit.audit_log (tool, action, stream_seq);
    CREATE INDEX audit_log_agent ON audit.audit_log (agent, stream_seq);

    CREATE TABLE audit.run_receipts (
      stream_seq        bigint PRIMARY KEY REFERENCES audit.event_log ON DELETE RESTRICT,
      run_id            text NOT NULL UNIQUE,
      space_id          text NOT NULL,
      task_id           text,
      attempt           bigint,
      conversation_id   text NOT NULL,
      agent             text NOT NULL,
      model             text NOT NULL,
      source            text NOT NULL,
      principal_kind    text NOT NULL CHECK (principal_kind IN ('person', 'service', 'unknown')),
      principal_id      text NOT NULL,
      status            text NOT NULL CHECK (status IN ('ok', 'failed', 'interrupted', 'cancelled')),
      reason            text,
      steps             bigint NOT NULL CHECK (steps >= 0),
      prompt_tokens     bigint NOT NULL CHECK (prompt_tokens >= 0),
      completion_tokens bigint NOT NULL CHECK (completion_tokens >= 0),
      cached_tokens     bigint NOT NULL CHECK (cached_tokens >= 0),
      cost_amount       numeric NOT NULL CHECK (cost_amount >= 0),
      cost_known        boolean NOT NULL,
      result_seq        bigint,
      duration_ms       bigint NOT NULL CHECK (duration_ms >= 0),
      completed_at      timestamptz NOT NULL
    );
    COMMENT ON TABLE audit.run_receipts IS 'derived: one a run, from the first run.completed of the log (seed 003)';
    CREATE INDEX run_receipts_space ON audit.run_receipts (space_id, stream_seq);
    CREATE INDEX run_receipts_task ON audit.run_receipts (task_id, stream_seq) WHERE task_id IS NOT NULL;

    CREATE TABLE audit.position (
      only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      first_seq  bigint NOT NULL CHECK (first_seq >= 1),
      last_seq   bigint NOT NULL CHECK (last_seq >= first_seq),
      changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    COMMENT ON TABLE audit.position IS 'derived: what event_log holds, without a hole from first_seq to last_seq';

    -- No update, no delete, not even by the owner: grants stop the service, these stop everyone who does not first alter the schema.
    CREATE FUNCTION audit.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% is append-only: % refused; a correction is a new event', TG_TABLE_NAME, TG_OP USING ERRCODE = 'insufficient_privilege';
    END $$;
    CREATE FUNCTION audit.guard_position() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.first_seq <> OLD.first_seq OR NEW.last_seq < OLD.last_seq
      THEN RAISE EXCEPTION 'the position of the log never goes back' USING ERRCODE = 'check_violation';
      END IF;
      RETURN NEW;
    END $$;
  `.execute(db);
  for (const table of ['event_log', 'audit_log', 'run_receipts']) {
    const name = sql.table(`audit.${table}`);
    await sql`CREATE TRIGGER refuse_row BEFORE UPDATE OR DELETE ON ${name} FOR EACH ROW EXECUTE FUNCTION audit.refuse_change()`.execute(
      db,
    );
    await sql`CREATE TRIGGER refuse_statement BEFORE UPDATE OR DELETE OR TRUNCATE ON ${name} FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse_change()`.execute(
      db,
    );
    await sql`ALTER TABLE ${name} ENABLE ALWAYS TRIGGER refuse_row, ENABLE ALWAYS TRIGGER refuse_statement`.execute(db);
  }
  await sql`
    CREATE TRIGGER guard_position BEFORE UPDATE ON audit.position FOR EACH ROW EXECUTE FUNCTION audit.guard_position();
    CREATE TRIGGER refuse_statement BEFORE DELETE OR TRUNCATE ON audit.position FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse_change();
    ALTER TABLE audit.position ENABLE ALWAYS TRIGGER guard_position, ENABLE ALWAYS TRIGGER refuse_statement;

    GRANT SELECT, INSERT ON audit.event_log, audit.audit_log, audit.run_receipts TO hp_audit;
    GRANT SELECT, INSERT ON audit.position TO hp_audit;
    GRANT UPDATE (last_seq, changed_at) ON audit.position TO hp_audit;
  `.execute(db);
}
