import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE audit.tree_tiles (
      level  smallint NOT NULL CHECK (level BETWEEN 0 AND 6),
      index  bigint NOT NULL CHECK (index >= 0),
      hashes bytea NOT NULL CHECK (octet_length(hashes) = 8192),
      PRIMARY KEY (level, index)
    );
    -- hashes do not get smaller
    ALTER TABLE audit.tree_tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;
    COMMENT ON TABLE audit.tree_tiles IS 'derived: the full tiles of the Merkle tree over event_log (RFC 9162), in the same transaction as its rows';

    CREATE TABLE audit.checkpoints (
      number  bigint PRIMARY KEY CHECK (number >= 1),
      size    bigint NOT NULL CHECK (size >= 1),
      root    bytea NOT NULL CHECK (octet_length(root) = 32),
      note    text NOT NULL,
      made_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    COMMENT ON TABLE audit.checkpoints IS 'backed-up: every signed checkpoint of the log; also on a stream of its own';
    CREATE INDEX checkpoints_size ON audit.checkpoints (size, number);

    CREATE TABLE audit.signing_keys (
      number     bigint PRIMARY KEY CHECK (number >= 1),
      vkey       text NOT NULL UNIQUE,
      since_size bigint NOT NULL CHECK (since_size >= 0),
      -- the first checkpoint that it signed
      checkpoint bigint NOT NULL REFERENCES audit.checkpoints ON DELETE RESTRICT,
      -- signed by the key before; by itself for the first
      note       text NOT NULL,
      made_at    timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    COMMENT ON TABLE audit.signing_keys IS 'backed-up: the public keys of the checkpoints, and how each handed over to the next';
  `.execute(db);
  for (const table of ['tree_tiles', 'checkpoints', 'signing_keys']) {
    const name = sql.table(`audit.${table}`);
    await sql`CREATE TRIGGER refuse_row BEFORE UPDATE OR DELETE ON ${name} FOR EACH ROW EXECUTE FUNCTION audit.refuse_change()`.execute(
      db,
    );
    await sql`CREATE TRIGGER refuse_statement BEFORE UPDATE OR DELETE OR TRUNCATE ON ${name} FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse_change()`.execute(
      db,
    );
    await sql`ALTER TABLE ${name} ENABLE ALWAYS TRIGGER refuse_row, ENABLE ALWAYS TRIGGER refuse_statement`.execute(db);
    await sql`GRANT SELECT, INSERT ON ${name} TO hp_audit`.execute(db);
  }
}
