import { type Kysely, sql } from 'kysely';

/**
 * What each call was judged by, so that rules which are not in force yet can be tried on the calls of the past. Metadata
 * and flags alone: content is never opened again. Only owners and admins of a space see its rows.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE policy.judged_calls (
      call_id  text PRIMARY KEY REFERENCES policy.decisions ON DELETE RESTRICT,
      space_id text NOT NULL,
      agent    text NOT NULL,
      server   text NOT NULL,
      tool     text NOT NULL,
      action   text,
      hint     text NOT NULL CHECK (hint IN ('read', 'write', 'destructive')),
      scope    text NOT NULL CHECK (scope IN ('user', 'admin')),
      origin   text NOT NULL CHECK (origin IN ('builtin', 'foreign')),
      flags    text[] NOT NULL,
      at       timestamptz(3) NOT NULL
    );
    COMMENT ON TABLE policy.judged_calls IS 'from-stream: of tool.proposed and policy.decided, what a verdict is made from';
    COMMENT ON COLUMN policy.judged_calls.hint IS 'as believed when the call was judged, as scope and origin';
    CREATE INDEX decisions_of_space ON policy.decisions (space_id, decided_at, call_id);
    GRANT SELECT, INSERT ON policy.judged_calls TO hp_policy;

    -- Asked once a query, where a function of the row would be asked for each of many rows.
    CREATE FUNCTION policy.spaces_decided() RETURNS SETOF text
      LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
      AS $$ SELECT m.space_id FROM policy.space_members m
            WHERE m.user_id = policy.current_user_id() AND m.role IN ('owner', 'admin') $$;
    REVOKE EXECUTE ON FUNCTION policy.spaces_decided() FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION policy.spaces_decided() TO hp_policy;

    ALTER TABLE policy.judged_calls ENABLE ROW LEVEL SECURITY;
    ALTER TABLE policy.judged_calls FORCE ROW LEVEL SECURITY;
    CREATE POLICY judge_adds ON policy.judged_calls FOR INSERT TO hp_policy WITH CHECK (true);
    CREATE POLICY admin_reads ON policy.judged_calls FOR SELECT TO hp_policy USING (space_id IN (SELECT policy.spaces_decided()));
  `.execute(db);
}
