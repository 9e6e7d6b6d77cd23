import { type Kysely, sql } from 'kysely';

/**
 * What a release has to meet is frozen with the call, and each vote is kept as it was cast. Votes have no foreign key, as
 * that would let the owner of the tables truncate both; the trigger looks for the call itself.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    ALTER TABLE staging.frozen_calls ADD COLUMN requirements jsonb
      CHECK (jsonb_typeof(requirements) = 'array' AND requirements <> '[]');

    CREATE TABLE staging.votes (
      call_id      text NOT NULL,
      voter        text NOT NULL,
      role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
      groups       text[] NOT NULL,
      digest       text NOT NULL,
      at           timestamptz(3) NOT NULL,
      reason       text,
      requirements jsonb CHECK (jsonb_typeof(requirements) = 'array' AND requirements <> '[]'),
      PRIMARY KEY (call_id, voter)
    );
    COMMENT ON TABLE staging.votes IS 'from-stream: who approved which held call, once each, as what they were then';

    CREATE FUNCTION staging.guard_vote() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      call staging.frozen_calls;
    BEGIN
      IF TG_OP <> 'INSERT' THEN
        RAISE EXCEPTION 'votes are kept as they were cast' USING ERRCODE = 'check_violation';
      END IF;
      SELECT * INTO call FROM staging.frozen_calls WHERE call_id = NEW.call_id;
      IF call.status IS DISTINCT FROM 'pending' OR NEW.at >= call.expires_at OR NEW.digest <> call.digest THEN
        RAISE EXCEPTION 'no vote on call %: not pending, too late, or of another digest', NEW.call_id USING ERRCODE = 'check_violation';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER guard_row BEFORE INSERT OR UPDATE OR DELETE ON staging.votes
      FOR EACH ROW EXECUTE FUNCTION staging.guard_vote();
    CREATE TRIGGER guard_table BEFORE TRUNCATE ON staging.votes
      FOR EACH STATEMENT EXECUTE FUNCTION staging.guard_vote();
    ALTER TABLE staging.votes ENABLE ALWAYS TRIGGER guard_row;
    ALTER TABLE staging.votes ENABLE ALWAYS TRIGGER guard_table;

    -- the least that every rule of counting leads to: no release with fewer people than any frozen requirement names
    CREATE FUNCTION staging.guard_release() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(*) FROM staging.votes WHERE call_id = NEW.call_id)
         < (SELECT max((r->>'votes')::int) FROM jsonb_array_elements(NEW.requirements) r) THEN
        RAISE EXCEPTION 'call % has too few votes', NEW.call_id USING ERRCODE = 'check_violation';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER guard_release BEFORE UPDATE ON staging.frozen_calls FOR EACH ROW
      WHEN (NEW.status = 'approved' AND OLD.status = 'pending' AND NEW.requirements IS NOT NULL)
      EXECUTE FUNCTION staging.guard_release();
    ALTER TABLE staging.frozen_calls ENABLE ALWAYS TRIGGER guard_release;

    GRANT SELECT, INSERT ON staging.votes TO hp_staging;
  `.execute(db);
}
