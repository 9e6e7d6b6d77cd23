import { type Kysely, sql } from 'kysely';

/**
 * What each space decides for itself: opt-ins to destructive actions, and rules (seed 001; charter, section 4). Each
 * change writes its own audit rows by a trigger, so that no code can forget or forge one. References are RESTRICT: a space
 * that goes would otherwise take its audit with it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await groups(db);
  await registry(db);
  await revisions(db);
  await preferences(db);
  await rules(db);
  await rowSecurity(db);
}

async function groups(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE FUNCTION policy.sound_groups(groups text[]) RETURNS boolean
      LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
      AS $$ SELECT cardinality(groups) <= 50
              AND NOT EXISTS (SELECT FROM unnest(groups) g WHERE g IS NULL OR g !~ '^[a-z0-9_-]{1,64}$') $$;
    REVOKE EXECUTE ON FUNCTION policy.sound_groups(text[]) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION policy.sound_groups(text[]) TO hp_policy;

    ALTER TABLE policy.space_members ADD COLUMN groups text[] NOT NULL DEFAULT '{}' CHECK (policy.sound_groups(groups));
    GRANT UPDATE (groups) ON policy.space_members TO hp_policy;

    -- Stands for every space where changes are told.
    ALTER TABLE policy.spaces ADD CHECK (space_id <> '_all');
  `.execute(db);
}

async function registry(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE policy.tools (
      space_id      text NOT NULL CHECK (space_id ~ '^[a-z0-9_-]{1,64}$'),
      server        text NOT NULL CHECK (char_length(server) BETWEEN 1 AND 128),
      tool          text NOT NULL CHECK (char_length(tool) BETWEEN 1 AND 128),
      origin        text NOT NULL CHECK (origin IN ('builtin', 'foreign')),
      description   text NOT NULL,
      affected_data text,
      schema_digest text NOT NULL CHECK (schema_digest ~ '^[0-9a-f]{64}$'),
      agents        text[] NOT NULL,
      actions       jsonb NOT NULL CHECK (jsonb_typeof(actions) = 'array'),
      withdrawn     boolean NOT NULL,
      announced_at  timestamptz(3) NOT NULL,
      stream_seq    bigint NOT NULL CHECK (stream_seq >= 1),
      PRIMARY KEY (space_id, server, tool)
    );
    COMMENT ON TABLE policy.tools IS 'from-stream: the last tool.announced of each tool in each space';
    COMMENT ON COLUMN policy.tools.actions IS 'as announced: name (null is the tool itself), description, hint, scope, executionClass';
    GRANT SELECT, INSERT ON policy.tools TO hp_policy;
    GRANT UPDATE (origin, description, affected_data, schema_digest, agents, actions, withdrawn, announced_at, stream_seq)
      ON policy.tools TO hp_policy;
    GRANT SELECT ON policy.tools TO hp_policy_reader;
  `.execute(db);
}

/** The service cannot set a revision, only take the next one, and only for a space whose policy the person may change. */
async function revisions(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE FUNCTION policy.is_operator() RETURNS boolean
      LANGUAGE sql STABLE SET search_path = pg_catalog
      AS $$ SELECT policy.current_user_id() IS NOT NULL AND coalesce(current_setting('app.operator', true), '') = 'on' $$;
    CREATE FUNCTION policy.may_decide(space text) RETURNS boolean
      LANGUAGE sql STABLE SET search_path = pg_catalog
      AS $$ SELECT coalesce(policy.role_in(space) IN ('owner', 'admin'), false) $$;

    CREATE TABLE policy.space_revisions (
      space_id text PRIMARY KEY CHECK (space_id ~ '^[a-z0-9_-]{1,64}$'),
      revision bigint NOT NULL CHECK (revision >= 1)
    );
    COMMENT ON TABLE policy.space_revisions IS 'from-stream: the revision of the last policy.changed of each space, and of _all';

    CREATE FUNCTION policy.next_revision(space text) RETURNS bigint
      LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog
      AS $$
      DECLARE taken bigint;
      BEGIN
        IF NOT (policy.may_decide(space) OR space = '_all' AND policy.is_operator()) THEN
          RAISE EXCEPTION 'not for you to change: %', space USING ERRCODE = 'insufficient_privilege';
        END IF;
        INSERT INTO policy.space_revisions AS r VALUES (space, 1)
          ON CONFLICT (space_id) DO UPDATE SET revision = r.revision + 1 RETURNING r.revision INTO taken;
        RETURN taken;
      END $$;

    REVOKE EXECUTE ON FUNCTION policy.is_operator(), policy.may_decide(text), policy.next_revision(text) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION policy.is_operator(), policy.may_decide(text), policy.next_revision(text) TO hp_policy;
    GRANT SELECT ON policy.space_revisions TO hp_policy, hp_policy_reader;
  `.execute(db);
}

async function preferences(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE FUNCTION policy.sound_actions(names text[]) RETURNS boolean
      LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
      AS $$ SELECT cardinality(names) <= 50 AND (SELECT count(*) = count(DISTINCT n) AND bool_and(char_length(n) <= 300
                AND n ~ '^(([A-Za-z0-9_-]|%[0-9A-F]{2})+/)?([A-Za-z0-9_-]|%[0-9A-F]{2})+([.]([A-Za-z0-9_-]|%[0-9A-F]{2})+)?$')
              IS NOT FALSE FROM unnest(names) n) $$;
    REVOKE EXECUTE ON FUNCTION policy.sound_actions(text[]) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION policy.sound_actions(text[]) TO hp_policy;

    CREATE TABLE policy.space_policy_preferences (
      space_id          text PRIMARY KEY REFERENCES policy.spaces ON DELETE RESTRICT,
      allow_destructive text[] NOT NULL CHECK (policy.sound_actions(allow_destructive)),
      updated_at        timestamptz(3) NOT NULL,
      updated_by        text NOT NULL CHECK (updated_by ~ '^[!-~]{1,128}$'),
      revision          bigint NOT NULL,
      schema_version    integer NOT NULL DEFAULT 1
    );
    CREATE INDEX space_policy_preferences_updated_at ON policy.space_policy_preferences (updated_at DESC);
    COMMENT ON TABLE policy.space_policy_preferences IS 'from-stream: the last policy.changed about preferences of each space';
    COMMENT ON COLUMN policy.space_policy_preferences.allow_destructive IS 'server, tool and action as written: one text for each triple and one triple for each text';

    -- The same whenever the audit is built anew from the stream.
    CREATE FUNCTION policy.audit_id(what text, space text, revision bigint, action text, subject text) RETURNS uuid
      LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
      AS $$ SELECT overlay(overlay(md5(concat_ws(chr(10), what, space, revision, action, subject))
              PLACING '8' FROM 13) PLACING '8' FROM 17)::uuid $$;
    REVOKE EXECUTE ON FUNCTION policy.audit_id(text, text, bigint, text, text) FROM PUBLIC;

    CREATE TABLE policy.space_policy_audit (
      id        uuid PRIMARY KEY,
      space_id  text NOT NULL REFERENCES policy.spaces ON DELETE RESTRICT,
      actor_id  text NOT NULL,
      action    text NOT NULL CHECK (action IN ('added', 'removed')),
      tool_name text NOT NULL,
      at        timestamptz(3) NOT NULL,
      revision  bigint NOT NULL
    );
    CREATE INDEX space_policy_audit_space ON policy.space_policy_audit (space_id, at DESC, id DESC);
    COMMENT ON TABLE policy.space_policy_audit IS 'from-stream: one row for each opt-in that a policy.changed added or removed; append-only, no time limit';

    CREATE FUNCTION policy.audit_preferences() RETURNS trigger
      LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog
      AS $$
      DECLARE before text[] := CASE WHEN TG_OP = 'UPDATE' THEN OLD.allow_destructive ELSE '{}' END;
      BEGIN
        IF TG_OP = 'UPDATE' AND NEW.updated_at < OLD.updated_at
            OR NEW.revision IS DISTINCT FROM (SELECT r.revision FROM policy.space_revisions r WHERE r.space_id = NEW.space_id) THEN
          RAISE EXCEPTION 'a change takes the next revision and no earlier time' USING ERRCODE = 'check_violation';
        END IF;
        INSERT INTO policy.space_policy_audit (id, space_id, actor_id, action, tool_name, at, revision)
          SELECT policy.audit_id('preferences', NEW.space_id, NEW.revision, d.action, d.name),
                 NEW.space_id, NEW.updated_by, d.action, d.name, NEW.updated_at, NEW.revision
          FROM (SELECT 'removed' AS action, n AS name FROM unnest(before) n WHERE n <> ALL (NEW.allow_destructive)
                UNION ALL SELECT 'added', n FROM unnest(NEW.allow_destructive) n WHERE n <> ALL (before)) d;
        RETURN NULL;
      END $$;
    CREATE TRIGGER audit_preferences AFTER INSERT OR UPDATE ON policy.space_policy_preferences
      FOR EACH ROW EXECUTE FUNCTION policy.audit_preferences();
    ALTER TABLE policy.space_policy_preferences ENABLE ALWAYS TRIGGER audit_preferences;

    GRANT SELECT, INSERT, UPDATE (allow_destructive, updated_at, updated_by, revision) ON policy.space_policy_preferences TO hp_policy;
    GRANT SELECT ON policy.space_policy_audit TO hp_policy;
    GRANT SELECT ON policy.space_policy_preferences, policy.space_policy_audit TO hp_policy_reader;
  `.execute(db);
  await appendOnly(db, 'space_policy_audit');
}

/** No update and no delete, not even by the owner, who would have to change the schema first. */
async function appendOnly(db: Kysely<unknown>, name: string): Promise<void> {
  const table = sql.table(`policy.${name}`);
  if (name === 'space_policy_audit')
    await sql`
      CREATE FUNCTION policy.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
      BEGIN
        RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'insufficient_privilege';
      END $$;
    `.execute(db);
  await sql`
    CREATE TRIGGER refuse_row BEFORE UPDATE OR DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION policy.refuse_change();
    CREATE TRIGGER refuse_statement BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION policy.refuse_change();
    ALTER TABLE ${table} ENABLE ALWAYS TRIGGER refuse_row;
    ALTER TABLE ${table} ENABLE ALWAYS TRIGGER refuse_statement;
  `.execute(db);
}

/** One row a space, as its rules are set as one list: two lists can never be mixed. */
async function rules(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE FUNCTION policy.sound_rules(rules jsonb) RETURNS boolean
      LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
      AS $$ SELECT CASE WHEN jsonb_typeof(rules) <> 'array' OR jsonb_array_length(rules) > 200 THEN false ELSE (
          SELECT count(*) = count(DISTINCT jsonb_build_array(r->'server', r->'tool', r->'action', r->'agent'))
             AND bool_and(coalesce(r->>'verdict', '') IN ('auto', 'approve', 'deny')
               AND (r->>'tool' IS NOT NULL OR coalesce(r->>'server', r->>'action') IS NULL)) IS NOT FALSE
          FROM jsonb_array_elements(rules) r) END $$;
    REVOKE EXECUTE ON FUNCTION policy.sound_rules(jsonb) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION policy.sound_rules(jsonb) TO hp_policy;

    CREATE TABLE policy.space_rules (
      space_id       text PRIMARY KEY REFERENCES policy.spaces ON DELETE RESTRICT,
      rules          jsonb NOT NULL CHECK (policy.sound_rules(rules)),
      updated_at     timestamptz(3) NOT NULL,
      updated_by     text NOT NULL CHECK (updated_by ~ '^[!-~]{1,128}$'),
      revision       bigint NOT NULL,
      schema_version integer NOT NULL DEFAULT 1
    );
    COMMENT ON TABLE policy.space_rules IS 'from-stream: the last policy.changed about rules of each space';

    CREATE TABLE policy.space_rules_audit (
      id       uuid PRIMARY KEY,
      space_id text NOT NULL REFERENCES policy.spaces ON DELETE RESTRICT,
      actor_id text NOT NULL,
      action   text NOT NULL CHECK (action IN ('added', 'removed')),
      rule     jsonb NOT NULL,
      at       timestamptz(3) NOT NULL,
      revision bigint NOT NULL
    );
    CREATE INDEX space_rules_audit_space ON policy.space_rules_audit (space_id, at DESC, id DESC);
    COMMENT ON TABLE policy.space_rules_audit IS 'from-stream: one row for each rule that a policy.changed added or removed; append-only, no time limit';

    CREATE FUNCTION policy.audit_rules() RETURNS trigger
      LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog
      AS $$
      DECLARE before jsonb := CASE WHEN TG_OP = 'UPDATE' THEN OLD.rules ELSE '[]' END;
      BEGIN
        IF TG_OP = 'UPDATE' AND NEW.updated_at < OLD.updated_at
            OR NEW.revision IS DISTINCT FROM (SELECT r.revision FROM policy.space_revisions r WHERE r.space_id = NEW.space_id) THEN
          RAISE EXCEPTION 'a change takes the next revision and no earlier time' USING ERRCODE = 'check_violation';
        END IF;
        INSERT INTO policy.space_rules_audit (id, space_id, actor_id, action, rule, at, revision)
          SELECT policy.audit_id('rules', NEW.space_id, NEW.revision, d.action, d.rule::text),
                 NEW.space_id, NEW.updated_by, d.action, d.rule, NEW.updated_at, NEW.revision
          FROM (SELECT 'removed' AS action, r AS rule FROM (SELECT jsonb_array_elements(before) EXCEPT SELECT jsonb_array_elements(NEW.rules)) gone (r)
                UNION ALL SELECT 'added', r FROM (SELECT jsonb_array_elements(NEW.rules) EXCEPT SELECT jsonb_array_elements(before)) come (r)) d;
        RETURN NULL;
      END $$;
    CREATE TRIGGER audit_rules AFTER INSERT OR UPDATE ON policy.space_rules
      FOR EACH ROW EXECUTE FUNCTION policy.audit_rules();
    ALTER TABLE policy.space_rules ENABLE ALWAYS TRIGGER audit_rules;

    GRANT SELECT, INSERT, UPDATE (rules, updated_at, updated_by, revision) ON policy.space_rules TO hp_policy;
    GRANT SELECT ON policy.space_rules_audit TO hp_policy;
    GRANT SELECT ON policy.space_rules, policy.space_rules_audit TO hp_policy_reader;
  `.execute(db);
  await appendOnly(db, 'space_rules_audit');
}

async function rowSecurity(db: Kysely<unknown>): Promise<void> {
  for (const name of ['tools', 'space_policy_preferences', 'space_policy_audit', 'space_rules', 'space_rules_audit']) {
    const table = sql.table(`policy.${name}`);
    await sql`
      ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
      ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;
      CREATE POLICY reader_reads ON ${table} FOR SELECT TO hp_policy_reader USING (true);
    `.execute(db);
    if (name === 'tools') continue;
    await sql`CREATE POLICY member_reads ON ${table} FOR SELECT TO hp_policy USING (policy.role_in(space_id) IS NOT NULL)`.execute(
      db,
    );
    // As whom the triggers write; there is no other grant to insert.
    if (name.endsWith('_audit'))
      await sql`CREATE POLICY trigger_writes ON ${table} FOR INSERT TO CURRENT_USER WITH CHECK (true)`.execute(db);
    else
      await sql`
        CREATE POLICY admin_sets ON ${table} FOR INSERT TO hp_policy
          WITH CHECK (updated_by = policy.current_user_id() AND policy.may_decide(space_id));
        CREATE POLICY admin_changes ON ${table} FOR UPDATE TO hp_policy USING (policy.may_decide(space_id))
          WITH CHECK (updated_by = policy.current_user_id() AND policy.may_decide(space_id));
      `.execute(db);
  }
  await sql`
    -- The registry is written from the stream, by nobody in particular.
    CREATE POLICY member_reads ON policy.tools FOR SELECT TO hp_policy
      USING (policy.role_in(space_id) IS NOT NULL OR policy.current_user_id() IS NULL);
    CREATE POLICY stream_adds ON policy.tools FOR INSERT TO hp_policy WITH CHECK (policy.current_user_id() IS NULL);
    CREATE POLICY stream_changes ON policy.tools FOR UPDATE TO hp_policy USING (policy.current_user_id() IS NULL);
  `.execute(db);
}
