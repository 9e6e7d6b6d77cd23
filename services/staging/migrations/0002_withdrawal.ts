import { type Kysely, sql } from 'kysely';

/** A person may take a held call back: whoever it acts for, an owner or an admin. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    DO $$
    DECLARE
      old text;
    BEGIN
      SELECT conname INTO STRICT old FROM pg_constraint
        WHERE conrelid = 'staging.frozen_calls'::regclass AND contype = 'c'
          AND pg_get_constraintdef(oid) LIKE 'CHECK (((status <> ''withdrawn''%';
      EXECUTE format('ALTER TABLE staging.frozen_calls DROP CONSTRAINT %I', old);
    END $$;
    ALTER TABLE staging.frozen_calls ADD CONSTRAINT frozen_calls_withdrawn
      CHECK (status <> 'withdrawn' OR cause IN ('person', 'policy-denied', 'revised'));
  `.execute(db);
}
