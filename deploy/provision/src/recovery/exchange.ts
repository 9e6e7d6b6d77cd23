import pg from 'pg';
import { changesIn, comparedColumns } from './compare.js';
import type { Column, Scratch } from './scratch.js';

const id = pg.escapeIdentifier;

/**
 * Takes guards off the tables for the rest of the transaction: row-level security holds for their owner too, and triggers
 * would refuse, or tell anew, what has happened long ago. Locks the tables against everybody.
 * @returns what puts every guard back as it was; the end of the transaction without it leaves them as they were too
 */
export async function unguarded({ client, real, projection }: Scratch): Promise<() => Promise<void>> {
  const back: string[] = [];
  for (const { name } of projection.tables) {
    const table = `${id(real)}.${id(name)}`;
    await client.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    const { rows: security } = await client.query(
      'SELECT relforcerowsecurity AS forced FROM pg_class WHERE oid = $1::regclass',
      [table],
    );
    if (security[0].forced) {
      await client.query(`ALTER TABLE ${table} NO FORCE ROW LEVEL SECURITY`);
      back.push(`ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`);
    }
    const { rows: triggers } = await client.query(
      `SELECT tgname AS name, tgenabled AS enabled FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal AND tgenabled <> 'D'`,
      [table],
    );
    for (const t of triggers) {
      await client.query(`ALTER TABLE ${table} DISABLE TRIGGER ${id(t.name)}`);
      const mode = t.enabled === 'A' ? 'ALWAYS ' : t.enabled === 'R' ? 'REPLICA ' : '';
      back.push(`ALTER TABLE ${table} ENABLE ${mode}TRIGGER ${id(t.name)}`);
    }
  }
  return async () => {
    for (const statement of back) await client.query(statement);
  };
}

/**
 * Makes the service's rows those that follow from the events, where `compare` found a difference and nowhere else; of a
 * row that differs, what no event tells stays as it is.
 */
export async function exchange(scratch: Scratch): Promise<void> {
  const { client, real, schema, projection } = scratch;
  for (const { name, key } of projection.tables.toReversed())
    await client.query(
      `DELETE FROM ${id(real)}.${id(name)} t USING ${changesIn(name)} c
       WHERE c."how it differs" = 'extra' AND ${key.map((k) => `t.${id(k)} = c.${id(k)}`).join(' AND ')}`,
    );
  for (const { name, key } of projection.tables) {
    const all = (scratch.columns.get(name) as Column[]).map((c) => id(c.name)).join(', ');
    const set = comparedColumns(scratch, name).map((c) => `${id(c.name)} = s.${id(c.name)}`);
    const same = (a: string, b: string) => key.map((k) => `${a}.${id(k)} = ${b}.${id(k)}`).join(' AND ');
    if (set.length > 0)
      await client.query(
        `UPDATE ${id(real)}.${id(name)} t SET ${set.join(', ')} FROM ${id(schema)}.${id(name)} s, ${changesIn(name)} c
         WHERE c."how it differs" = 'differs' AND ${same('c', 's')} AND ${same('c', 't')}`,
      );
    await client.query(
      `INSERT INTO ${id(real)}.${id(name)} (${all}) SELECT ${all} FROM ${id(schema)}.${id(name)} s
       WHERE EXISTS (SELECT FROM ${changesIn(name)} c WHERE c."how it differs" = 'missing' AND ${same('c', 's')})`,
    );
  }
}
