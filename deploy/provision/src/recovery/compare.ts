import pg from 'pg';
import type { Column, Scratch } from './scratch.js';

const id = pg.escapeIdentifier;

/** `missing`: the events tell of a row that is not there. `extra`: no event tells of a row that is. */
export interface Difference {
  table: string;
  kind: 'missing' | 'extra' | 'differs';
  key: string[];
  /** Those that differ. */
  columns: string[];
}

export interface Comparison {
  total: number;
  /** The first of them. */
  named: Difference[];
}

const NAMED = 100;

/** What a row is compared by: the columns that events tell. */
export function comparedColumns({ columns, projection }: Scratch, table: string): Column[] {
  const { key, untold = [] } = tableOf(projection, table);
  return (columns.get(table) as Column[]).filter((c) => !key.includes(c.name) && !untold.includes(c.name));
}

/** The rows that are there (`r`) against those that follow from the events (`s`), joined by key, where they differ. */
export function differing(scratch: Scratch, table: string): string {
  const { key, comparedAs = {} } = tableOf(scratch.projection, table);
  const side = (schema: string) => {
    const as = Object.entries(comparedAs).map(
      ([column, expression]) => `, (${expression}) AS ${id(`compared ${column}`)}`,
    );
    return `(SELECT t.*${as.join('')} FROM ${id(schema)}.${id(table)} t)`;
  };
  const compared = comparedColumns(scratch, table).map(({ name }) => ({
    name,
    by: id(name in comparedAs ? `compared ${name}` : name),
  }));
  const on = key.map((k) => `r.${id(k)} = s.${id(k)}`).join(' AND ');
  const first = id(key[0] as string);
  const names = compared.map(
    (c) => `CASE WHEN r.${c.by} IS DISTINCT FROM s.${c.by} THEN ${pg.escapeLiteral(c.name)} END`,
  );
  return `SELECT ${key.map((k) => `coalesce(r.${id(k)}, s.${id(k)}) AS ${id(k)}`).join(', ')},
      CASE WHEN r.${first} IS NULL THEN 'missing' WHEN s.${first} IS NULL THEN 'extra' ELSE 'differs' END AS "how it differs",
      array_remove(ARRAY[${names.join(', ')}]::text[], NULL) AS "where it differs"
    FROM ${side(scratch.real)} r FULL JOIN ${side(scratch.schema)} s ON ${on}
    WHERE r.${first} IS NULL OR s.${first} IS NULL${compared.length === 0 ? '' : ` OR (${compared.map((c) => `r.${c.by}`).join(', ')}) IS DISTINCT FROM (${compared.map((c) => `s.${c.by}`).join(', ')})`}`;
}

/** Row by row. Keeps what differs in temporary tables (`changesIn`) for as long as the transaction lasts. */
export async function compare(scratch: Scratch): Promise<Comparison> {
  const { client, projection } = scratch;
  const named: Difference[] = [];
  let total = 0;
  for (const { name, key } of projection.tables) {
    await client.query(`CREATE TEMP TABLE ${changesIn(name)} ON COMMIT DROP AS ${differing(scratch, name)}`);
    const { rows: counted } = await client.query(`SELECT count(*)::int AS n FROM ${changesIn(name)}`);
    total += counted[0].n;
    if (counted[0].n === 0) continue;
    const { rows } = await client.query(
      `SELECT ARRAY[${key.map((k) => `${id(k)}::text`).join(', ')}] AS key, "how it differs" AS kind, "where it differs" AS columns
       FROM ${changesIn(name)} ORDER BY 2, 1 LIMIT $1`,
      [Math.max(0, NAMED - named.length)],
    );
    named.push(
      ...rows.map((r) => ({ table: name, kind: r.kind, key: r.key, columns: r.kind === 'differs' ? r.columns : [] })),
    );
  }
  return { total, named };
}

export const changesIn = (table: string): string => `pg_temp.${id(`changes of ${table}`)}`;

export const tableOf = ({ tables }: Scratch['projection'], name: string) => {
  const table = tables.find((t) => t.name === name);
  if (!table) throw new Error(`the projection has no table ${name}`);
  return table;
};

export const inWords = ({ table, kind, key, columns }: Difference): string =>
  `${table} ${key.join(' ')}: ${kind === 'differs' ? `differs in ${columns.join(', ')}` : kind}`;
