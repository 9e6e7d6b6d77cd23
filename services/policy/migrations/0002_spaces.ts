import { type Kysely, sql } from 'kysely';

/**
 * Spaces and their members. The service writes as one person at a time (`app.user_id`, for one transaction), and row-level
 * security holds for it as for everybody, also for the owner of the tables: the policies are the rules of who may change
 * whom, whatever the code above them forgets. `hp_policy_reader` sees all and changes nothing.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE policy.spaces (
      space_id   text PRIMARY KEY CHECK (space_id ~ '^[a-z0-9_-]{1,64}$'),
      name       text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
      created_by text NOT NULL CHECK (created_by ~ '^[!-~]{1,128}$'),
      created_at timestamptz(3) NOT NULL
    );
    COMMENT ON TABLE policy.spaces IS 'from-stream: one row a policy.space-created';

    CREATE TABLE policy.space_members (
      space_id     text NOT NULL REFERENCES policy.spaces ON DELETE RESTRICT,
      user_id      text NOT NULL CHECK (user_id ~ '^[!-~]{1,128}$'),
      display_name text NOT NULL CHECK (char_length(display_name) BETWEEN 1 AND 128),
      role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
      changed_by   text NOT NULL CHECK (changed_by ~ '^[!-~]{1,128}$'),
      changed_at   timestamptz(3) NOT NULL,
      PRIMARY KEY (space_id, user_id)
    );
    CREATE INDEX space_members_user ON policy.space_members (user_id);
    COMMENT ON TABLE policy.space_members IS 'from-stream: the last policy.member-changed of each person in each space, unless its role is null';

    GRANT SELECT, INSERT ON policy.spaces TO hp_policy;
    GRANT SELECT, INSERT, DELETE, UPDATE (display_name, role, changed_by, changed_at) ON policy.space_members TO hp_policy;
    GRANT SELECT ON policy.spaces, policy.space_members TO hp_policy_reader;
  `.execute(db);
  await functions(db);
  await rowSecurity(db);
  await lastOwner(db);
}

/** SECURITY DEFINER: a policy on the members that reads the members would otherwise recurse. */
async function functions(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE FUNCTION policy.current_user_id() RETURNS text
      LANGUAGE sql STABLE SET search_path = pg_catalog
      AS $$ SELECT nullif(current_setting('app.user_id', true), '') $$;

    CREATE FUNCTION policy.role_in(space text) RETURNS text
      LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
      AS $$ SELECT m.role FROM policy.space_members m WHERE m.space_id = space AND m.user_id = policy.current_user_id() $$;

    CREATE FUNCTION policy.is_founding(space text) RETURNS boolean
      LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
      AS $$ SELECT EXISTS (SELECT FROM policy.spaces s WHERE s.space_id = space AND s.created_by = policy.current_user_id())
              AND NOT EXISTS (SELECT FROM policy.space_members m WHERE m.space_id = space) $$;

    REVOKE EXECUTE ON FUNCTION policy.current_user_id(), policy.role_in(text), policy.is_founding(text) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION policy.current_user_id(), policy.role_in(text), policy.is_founding(text) TO hp_policy;
  `.execute(db);
}

async function rowSecurity(db: Kysely<unknown>): Promise<void> {
  await sql`
    ALTER TABLE policy.spaces ENABLE ROW LEVEL SECURITY;
    ALTER TABLE policy.spaces FORCE ROW LEVEL SECURITY;
    ALTER TABLE policy.space_members ENABLE ROW LEVEL SECURITY;
    ALTER TABLE policy.space_members FORCE ROW LEVEL SECURITY;

    -- As whom the functions above, and the check of references, look.
    CREATE POLICY owner_reads ON policy.spaces FOR SELECT TO CURRENT_USER USING (true);
    CREATE POLICY owner_reads ON policy.space_members FOR SELECT TO CURRENT_USER USING (true);

    CREATE POLICY reader_reads ON policy.spaces FOR SELECT TO hp_policy_reader USING (true);
    CREATE POLICY reader_reads ON policy.space_members FOR SELECT TO hp_policy_reader USING (true);

    CREATE POLICY member_reads ON policy.spaces FOR SELECT TO hp_policy
      USING (policy.role_in(space_id) IS NOT NULL);
    CREATE POLICY creator_creates ON policy.spaces FOR INSERT TO hp_policy
      WITH CHECK (created_by = policy.current_user_id());

    CREATE POLICY member_reads ON policy.space_members FOR SELECT TO hp_policy
      USING (policy.role_in(space_id) IS NOT NULL);
    CREATE POLICY creator_founds ON policy.space_members FOR INSERT TO hp_policy
      WITH CHECK (user_id = policy.current_user_id() AND changed_by = policy.current_user_id()
        AND role = 'owner' AND policy.is_founding(space_id));
    CREATE POLICY admin_adds ON policy.space_members FOR INSERT TO hp_policy
      WITH CHECK (changed_by = policy.current_user_id()
        AND (policy.role_in(space_id) = 'owner' OR policy.role_in(space_id) = 'admin' AND role <> 'owner'));
    CREATE POLICY admin_changes ON policy.space_members FOR UPDATE TO hp_policy
      USING (policy.role_in(space_id) = 'owner' OR policy.role_in(space_id) = 'admin' AND role <> 'owner')
      WITH CHECK (changed_by = policy.current_user_id()
        AND (policy.role_in(space_id) = 'owner' OR policy.role_in(space_id) = 'admin' AND role <> 'owner'));
    CREATE POLICY admin_removes ON policy.space_members FOR DELETE TO hp_policy
      USING (policy.role_in(space_id) = 'owner' OR policy.role_in(space_id) = 'admin' AND role <> 'owner');
    CREATE POLICY member_leaves ON policy.space_members FOR DELETE TO hp_policy
      USING (user_id = policy.current_user_id());
  `.execute(db);
}

/** Owners who step down at the same time wait for each other, and the last one finds that they are the last. */
async function lastOwner(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE FUNCTION policy.keep_an_owner() RETURNS trigger
      LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog
      AS $$
      BEGIN
        IF OLD.role = 'owner' AND (TG_OP = 'DELETE' OR NEW.role <> 'owner') THEN
          PERFORM pg_advisory_xact_lock(hashtextextended('holdpoint.space.' || OLD.space_id, 0));
          IF NOT EXISTS (SELECT FROM policy.space_members m
              WHERE m.space_id = OLD.space_id AND m.role = 'owner' AND m.user_id <> OLD.user_id) THEN
            RAISE EXCEPTION 'the last owner of a space stays' USING ERRCODE = 'HP001';
          END IF;
        END IF;
        RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
      END $$;
    CREATE TRIGGER keep_an_owner BEFORE UPDATE OR DELETE ON policy.space_members
      FOR EACH ROW EXECUTE FUNCTION policy.keep_an_owner();
    ALTER TABLE policy.space_members ENABLE ALWAYS TRIGGER keep_an_owner;
  `.execute(db);
}
