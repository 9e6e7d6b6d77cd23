import type pg from 'pg';
import { LEDGER_SCHEMA } from './ledger.js';
import { Refused } from './refused.js';
import type { Value } from './value.js';

interface Column {
  name: string;
  /** `pg_type.typcategory`: B boolean, N numeric. */
  category: string;
  type: string;
  /** The column's type as SQL writes it; of texts without their length, as a cast would cut them to it. */
  spelled: string;
  /** Digits after the point that a numeric keeps; null when it keeps all. */
  scale: number | null;
}

/** A table as the catalogue describes it now. */
export interface Relation {
  schema: string;
  table: string;
  columns: ReadonlyMap<string, Column>;
  primaryKey: readonly string[];
  /** Column sets that no two rows share, and that `ON CONFLICT` can name. */
  uniqueKeys: readonly (readonly string[])[];
}

/** @throws Refused unless it is a plain table that the agent may be given */
export async function relation(client: pg.Client, schema: string, table: string): Promise<Relation> {
  const missing = new Refused(
    'There is no such table. Ask information_schema.tables which there are; names are case-sensitive.',
  );
  if (schema === LEDGER_SCHEMA || schema === 'information_schema' || schema.startsWith('pg_')) throw missing;
  const columns = await client.query<Column & { oid: string }>(
    `SELECT c.oid::text AS oid, a.attname::text AS name, t.typcategory AS category, coalesce(b.typname, t.typname)::text AS type,
            pg_catalog.format_type(a.atttypid, CASE WHEN t.typcategory <> 'S' THEN a.atttypmod END) AS spelled,
            CASE WHEN coalesce(b.typname, t.typname) = 'numeric' AND m.typmod >= 4
                 THEN ((((m.typmod - 4) & 2047) # 1024) - 1024) END AS scale
       FROM pg_catalog.pg_class c
       JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
       LEFT JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype
      CROSS JOIN LATERAL (SELECT CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE t.typtypmod END AS typmod) m
      WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')`,
    [schema, table],
  );
  const [first] = columns.rows;
  if (!first) throw missing;
  const keys = await client.query<{ names: string[]; primary: boolean }>(
    `SELECT array(SELECT a.attname::text FROM generate_series(0, i.indnkeyatts - 1) AS k
                    JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k] ORDER BY k) AS names,
            i.indisprimary AS primary
       FROM pg_catalog.pg_index i
      WHERE i.indrelid = $1 AND i.indisunique AND i.indisvalid AND i.indimmediate
        AND i.indpred IS NULL AND i.indexprs IS NULL`,
    [first.oid],
  );
  return {
    schema,
    table,
    columns: new Map(columns.rows.map((c) => [c.name, c])),
    primaryKey: keys.rows.find((k) => k.primary)?.names ?? [],
    uniqueKeys: keys.rows.map((k) => k.names),
  };
}

/**
 * The columns that the rows name, each checked against the catalogue, and each value against its column.
 * @throws Refused naming column and row
 */
export function columnsOf(to: Relation, rows: readonly Readonly<Record<string, Value>>[]): string[] {
  const names = Object.keys(rows[0] ?? {});
  if (names.length === 0) throw new Refused('A row names no column. Give at least one.');
  for (const name of names)
    if (!to.columns.has(name))
      throw new Refused(
        `The table has no such column as row 1 names. It has: ${[...to.columns.keys()].join(', ')}; names are case-sensitive.`,
      );
  rows.forEach((row, i) => {
    if (Object.keys(row).length !== names.length || !names.every((name) => Object.hasOwn(row, name)))
      throw new Refused(`Row ${i + 1} names other columns than row 1. Name the same in each, with null for no value.`);
    for (const name of names) {
      const expected = expectation(to.columns.get(name) as Column, row[name] as Value);
      if (expected) throw new Refused(`Row ${i + 1}, column ${name}: expected ${expected}.`);
    }
  });
  return names;
}

/** What the column takes instead; undefined when the value fits. The server would convert, round or cut some of these. */
function expectation(column: Column, v: Value): string | undefined {
  if (v === null) return undefined;
  if (column.category === 'B') return typeof v === 'boolean' ? undefined : 'true, false or null';
  if (typeof v === 'boolean') return `a value of type ${column.type}, not true or false`;
  const inexact = column.type === 'float4' || column.type === 'float8';
  if (typeof v !== 'string')
    return column.category === 'N' && !inexact ? undefined : `a string with a value of type ${column.type}`;
  if (column.type !== 'numeric') return undefined;
  const [, fraction = ''] = /^-?\d+(?:\.(\d+))?$/.exec(v) ?? [undefined];
  if (!/^-?\d+(\.\d+)?$/.test(v)) return 'a decimal such as "1380.00"';
  if (column.scale !== null && fraction.replace(/0+$/, '').length > column.scale)
    return `at most ${column.scale} digits after the point`;
  return undefined;
}
