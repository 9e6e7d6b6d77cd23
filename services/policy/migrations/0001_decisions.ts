import { eventingTables } from '@holdpoint/eventing';
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await eventingTables(db, 'policy', 'hp_policy');
  await sql`
    CREATE TABLE policy.decisions (
      call_id        text PRIMARY KEY,
      space_id       text NOT NULL,
      event_id       text NOT NULL UNIQUE,
      stream_seq     bigint NOT NULL,
      proposal_seq   bigint NOT NULL CHECK (proposal_seq >= 1),
      verdict        text NOT NULL CHECK (verdict IN ('auto', 'approve', 'deny')),
      would_be       text CHECK (would_be IN ('auto', 'approve', 'deny')),
      mode           text NOT NULL CHECK (mode IN ('enforce', 'log-only')),
      reason         text NOT NULL,
      rule           text NOT NULL,
      policy_version text NOT NULL CHECK (policy_version ~ '^[0-9a-f]{64}$'),
      decided_at     timestamptz(3) NOT NULL,
      CHECK ((mode = 'log-only') = (would_be IS NOT NULL)),
      CHECK (stream_seq > proposal_seq)
    );
    COMMENT ON TABLE policy.decisions IS 'from-stream: the one verdict on each call, kept beyond the stream''s window';
    GRANT SELECT, INSERT ON policy.decisions TO hp_policy;
  `.execute(db);
}
