import { type Kysely, sql } from 'kysely';

/** What a person said when they approved is for the agent too, and tool.executed does not repeat it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    ALTER TABLE taskboard.approvals ADD COLUMN reason text;
    COMMENT ON COLUMN taskboard.approvals.reason IS 'the sealed box of approval.decided as JSON text';
  `.execute(db);
}
