import type { CallPreview } from '@holdpoint/contracts';
import pg from 'pg';
import { begin, single, withConnection } from './connection.js';
import { Refused, refusal } from './refused.js';
import { columnsOf, type Relation, relation } from './relation.js';
import { asParameter, type Value } from './value.js';
import type { Rows, Target } from './write.js';

type Row = Record<string, string | null>;

const MAX_SHOWN = 20;
const id = pg.escapeIdentifier;

/**
 * The rows as they are now and as they would be, every value in the database's own spelling. Read in a transaction that is
 * read-only: nothing is tried out, so what constraints and triggers will say is not foretold.
 * @param key of an upsert; undefined for an insert, whose rows must not be there yet
 */
export function previewRows(
  target: Target,
  what: Rows & { key?: readonly string[] },
  signal: AbortSignal,
): Promise<CallPreview> {
  const table = `${what.schema}.${what.table}`;
  return withConnection(target.url, signal, async (client) => {
    try {
      await begin(client, 'READ ONLY', target.timeoutMs);
      const to = await relation(client, what.schema, what.table);
      const key = what.key ?? to.primaryKey;
      const names = columnsOf(to, what.rows);
      const changes = [];
      for (const row of what.rows.slice(0, MAX_SHOWN)) changes.push(await changeOf(client, to, names, key, row));
      return shown(table, changes, what);
    } catch (error) {
      if (!(error instanceof Refused) && !(error instanceof pg.DatabaseError)) throw error;
      const facts = [
        { label: 'table', value: table },
        { label: 'rows', value: String(what.rows.length) },
      ];
      return { kind: 'facts', facts, note: `This could not be looked at, or would be refused: ${refusal(error)}` };
    }
  });
}

interface Change {
  before: Row | null;
  after: Row;
}

async function changeOf(
  client: pg.Client,
  to: Relation,
  names: readonly string[],
  key: readonly string[],
  row: Readonly<Record<string, Value>>,
): Promise<Change> {
  const after = await spelled(client, to, names, row);
  const named = key.length > 0 && key.every((k) => Object.hasOwn(row, k) && row[k] !== null);
  return { before: named ? await found(client, to, key, row) : null, after };
}

/** Values as they would stand there: read in the type of their column, and written out again. */
async function spelled(
  client: pg.Client,
  to: Relation,
  names: readonly string[],
  row: Readonly<Record<string, Value>>,
): Promise<Row> {
  const columns = names.map((n, i) => `(${cast(to, n, i + 1)})::text AS ${id(n)}`);
  const values = names.map((n) => asParameter(row[n] as Value));
  const { rows } = await client.query<Row>(single(`SELECT ${columns.join(', ')}`, values));
  return rows[0] as Row;
}

async function found(
  client: pg.Client,
  to: Relation,
  key: readonly string[],
  row: Readonly<Record<string, Value>>,
): Promise<Row | null> {
  const columns = [...to.columns.keys()].map((n) => `${id(n)}::text AS ${id(n)}`);
  const where = key.map((k, i) => `${id(k)} = ${cast(to, k, i + 1)}`);
  const { rows } = await client.query<Row>(
    single(
      `SELECT ${columns.join(', ')} FROM ${id(to.schema)}.${id(to.table)} WHERE ${where.join(' AND ')}`,
      key.map((k) => asParameter(row[k] as Value)),
    ),
  );
  return rows[0] ?? null;
}

/** The type's name is the catalogue's own. */
function cast(to: Relation, name: string, parameter: number): string {
  const type = to.columns.get(name)?.spelled;
  if (type === undefined) throw new Refused('key names a column that the table does not have.');
  return `$${parameter}::text::${type}`;
}

function shown(table: string, changes: Change[], what: Rows & { key?: readonly string[] }): CallPreview {
  const insert = what.key === undefined;
  const [first] = changes;
  if (first && what.rows.length === 1) {
    const { before, after } = first;
    if (!before) return { kind: 'row', table, before, after, note: 'Columns that are not named get their defaults.' };
    const note = 'A row with this key is there already; the insert would be refused.';
    return { kind: 'row', table, before, after: insert ? after : { ...before, ...after }, ...(insert ? { note } : {}) };
  }
  const facts = changes.map(({ before, after }, i) => ({
    label: `row ${i + 1}, ${before ? (insert ? 'there already' : 'in place of another') : 'new'}`,
    value: [...(before && !insert ? [`before: ${JSON.stringify(before)}`] : []), JSON.stringify(after)].join(
      ' after: ',
    ),
  }));
  const left = what.rows.length - changes.length;
  const all = [{ label: 'table', value: table }, { label: 'rows', value: String(what.rows.length) }, ...facts];
  return { kind: 'facts', facts: all, ...(left > 0 ? { note: `${left} further rows are not shown here.` } : {}) };
}
