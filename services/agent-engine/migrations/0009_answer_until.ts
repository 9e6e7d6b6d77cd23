import { type Kysely, sql } from 'kysely';

/**
 * Until when policy's answer that a claim rests on may be acted upon. The database looks at it when the claim is committed,
 * so that no wait before that, be it for a lock or of an engine that stands still, lets a claim through that a halt has
 * overtaken.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    ALTER TABLE agent_engine.executions ADD COLUMN answer_until timestamptz;

    CREATE FUNCTION agent_engine.answer_holds() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF clock_timestamp() >= NEW.answer_until THEN
        RAISE EXCEPTION 'the answer that the claim of % rests on has run out', NEW.call_id USING ERRCODE = 'HP001';
      END IF;
      RETURN NULL;
    END $$;

    CREATE CONSTRAINT TRIGGER executions_answer_holds AFTER INSERT ON agent_engine.executions
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.answer_until IS NOT NULL)
      EXECUTE FUNCTION agent_engine.answer_holds();
  `.execute(db);
}
