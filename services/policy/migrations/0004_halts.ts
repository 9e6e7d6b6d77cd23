import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await halts(db);
  await rateCalls(db);
}

async function halts(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE policy.halts (
      halt_id   text PRIMARY KEY CHECK (halt_id ~ '^[a-z0-9_-]{1,64}$'),
      scope     text NOT NULL CHECK (scope IN ('everything', 'space', 'agent')),
      space_id  text REFERENCES policy.spaces ON DELETE RESTRICT,
      agent     text CHECK (char_length(agent) BETWEEN 1 AND 128),
      reason    text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 500),
      set_by    text NOT NULL CHECK (set_by ~ '^[!-~]{1,128}$'),
      set_at    timestamptz(3) NOT NULL,
      lifted_by text CHECK (lifted_by ~ '^[!-~]{1,128}$'),
      lifted_at timestamptz(3),
      CHECK ((scope = 'everything') = (space_id IS NULL)),
      CHECK ((scope = 'agent') = (agent IS NOT NULL)),
      CHECK ((lifted_by IS NULL) = (lifted_at IS NULL))
    );
    CREATE INDEX halts_in_force ON policy.halts (space_id) WHERE lifted_at IS NULL;
    COMMENT ON TABLE policy.halts IS 'from-stream: one row a halt, set and lifted by policy.changed';

    CREATE FUNCTION policy.lift_once() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
    BEGIN
      IF OLD.lifted_at IS NOT NULL OR NEW.lifted_at IS NULL THEN
        RAISE EXCEPTION 'a halt is set once and lifted once' USING ERRCODE = 'check_violation';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER lift_once BEFORE UPDATE ON policy.halts FOR EACH ROW EXECUTE FUNCTION policy.lift_once();
    ALTER TABLE policy.halts ENABLE ALWAYS TRIGGER lift_once;

    GRANT SELECT, INSERT, UPDATE (lifted_by, lifted_at) ON policy.halts TO hp_policy;
    GRANT SELECT ON policy.halts TO hp_policy_reader;

    ALTER TABLE policy.halts ENABLE ROW LEVEL SECURITY;
    ALTER TABLE policy.halts FORCE ROW LEVEL SECURITY;
    CREATE POLICY reader_reads ON policy.halts FOR SELECT TO hp_policy_reader USING (true);
    CREATE POLICY member_reads ON policy.halts FOR SELECT TO hp_policy
      USING (policy.role_in(space_id) IS NOT NULL OR scope = 'everything' AND policy.current_user_id() IS NOT NULL);
    CREATE POLICY admin_halts ON policy.halts FOR INSERT TO hp_policy
      WITH CHECK (set_by = policy.current_user_id() AND lifted_at IS NULL
        AND (policy.may_decide(space_id) OR scope = 'everything' AND policy.is_operator()));
    CREATE POLICY admin_lifts ON policy.halts FOR UPDATE TO hp_policy
      USING (policy.may_decide(space_id) OR scope = 'everything' AND policy.is_operator())
      WITH CHECK (lifted_by = policy.current_user_id());
  `.execute(db);
}

async function rateCalls(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE policy.rate_calls (
      call_id   text PRIMARY KEY CHECK (call_id ~ '^[a-z0-9_-]{1,64}$'),
      space_id  text NOT NULL,
      user_kind text NOT NULL,
      user_id   text NOT NULL,
      server    text NOT NULL,
      tool      text NOT NULL,
      at        timestamptz(3) NOT NULL,
      passed    boolean NOT NULL
    );
    CREATE INDEX rate_calls_user ON policy.rate_calls (user_kind, user_id, server, tool, at);
    CREATE INDEX rate_calls_age ON policy.rate_calls (at);
    COMMENT ON TABLE policy.rate_calls IS 'ephemeral: the calls that the rate limit counts, for a day';
    COMMENT ON COLUMN policy.rate_calls.at IS 'the proposal''s time by the stream''s clock';
    GRANT SELECT, INSERT, DELETE ON policy.rate_calls TO hp_policy;
    GRANT SELECT ON policy.rate_calls TO hp_policy_reader;
  `.execute(db);
}
