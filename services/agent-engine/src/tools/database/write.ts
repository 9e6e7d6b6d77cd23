import pg from 'pg';
import { didNotHappen, done, mayNotBegin, type ToolContext, type ToolOutcome, unknown } from '../tool.js';
import { begin, single, withConnection } from './connection.js';
import { enter, keepResult } from './ledger.js';
import { Refused, refusal } from './refused.js';
import { columnsOf, type Relation, relation } from './relation.js';
import { asParameter, type Value } from './value.js';

export interface Target {
  url: string;
  timeoutMs: number;
}
export interface Rows {
  schema: string;
  table: string;
  rows: readonly Readonly<Record<string, Value>>[];
}

const id = pg.escapeIdentifier;

/** What is known of earlier attempts at the call: `certain` once none of them can have taken effect, nor still can. */
interface Knowledge {
  certain: boolean;
}

/**
 * Adds all rows or none. The rows and the call's entry in the ledger are one transaction: whoever tries the call again
 * changes nothing and gets the first answer.
 */
export function insert(target: Target, what: Rows, ctx: ToolContext): Promise<ToolOutcome> {
  return transaction(target, ctx, async (client, known) => {
    const earlier = await enter(client, ctx.callId);
    if (earlier !== undefined) return earlier;
    known.certain = true;
    const to = await relation(client, what.schema, what.table);
    const returned = to.primaryKey.map(id).join(', ') || 'NULL AS key';
    const { text, values } = insertion(to, what);
    const { rows } = await client.query<{ line: string }>(
      single(
        `WITH added AS (${text} RETURNING ${returned}) SELECT row_to_json(added)::text AS line FROM added`,
        values,
      ),
    );
    const keys = to.primaryKey.length > 0 ? `,"keys":[${rows.map((r) => r.line).join(',')}]` : '';
    const result = `{"inserted":${rows.length}${keys}}`;
    await keepResult(client, ctx.callId, result);
    return result;
  });
}

/** Adds rows, and sets the given columns of those whose key is there already. Done again it leaves the same rows. */
export function upsert(
  target: Target,
  what: Rows & { key: readonly string[] },
  ctx: ToolContext,
): Promise<ToolOutcome> {
  return transaction(target, ctx, async (client) => {
    const to = await relation(client, what.schema, what.table);
    const key = new Set(what.key);
    if (!to.uniqueKeys.some((k) => k.length === key.size && k.every((name) => key.has(name))))
      throw new Refused(
        `key must name the columns of one unique constraint of the table: ${to.uniqueKeys.map((k) => k.join(' + ')).join('; or ') || 'it has none'}.`,
      );
    // rows without a key value are never found again: each attempt would add them anew
    if (what.rows.some((row) => what.key.some((name) => (row[name] ?? null) === null)))
      throw new Refused('Each row must have a value other than null in each key column.');
    const { text, values } = insertion(to, what);
    const set = columnsOf(to, what.rows).filter((name) => !key.has(name));
    const action =
      set.length > 0 ? `UPDATE SET ${set.map((c) => `${id(c)} = EXCLUDED.${id(c)}`).join(', ')}` : 'NOTHING';
    await client.query(single(`${text} ON CONFLICT (${[...key].map(id).join(', ')}) DO ${action}`, values));
    return `{"upserted":${what.rows.length}}`;
  });
}

/** Names come from the catalogue and are quoted; values are parameters, read in the type of their column. */
function insertion(to: Relation, what: Rows): { text: string; values: (string | null)[] } {
  const names = columnsOf(to, what.rows);
  const values = what.rows.flatMap((row) => names.map((name) => asParameter(row[name] as Value)));
  const tuples = what.rows.map((_, r) => `(${names.map((_, c) => `$${r * names.length + c + 1}`).join(', ')})`);
  return {
    text: `INSERT INTO ${id(to.schema)}.${id(to.table)} (${names.map(id).join(', ')}) VALUES ${tuples.join(', ')}`,
    values,
  };
}

/**
 * Before COMMIT is sent, whatever goes wrong has not happened. Unless an earlier attempt may have: then this one, which
 * found nothing out about it, does not know either.
 */
async function transaction(
  target: Target,
  ctx: ToolContext,
  work: (client: pg.Client, known: Knowledge) => Promise<string>,
): Promise<ToolOutcome> {
  const known: Knowledge = { certain: ctx.attempt <= 1 };
  const nothing = (why: string) =>
    known.certain ? didNotHappen(why) : unknown(`What became of an earlier attempt is not known. This one: ${why}`);
  const withheld = await mayNotBegin(ctx);
  if (withheld) return nothing(withheld);
  try {
    return await withConnection(target.url, ctx.signal, async (client) => {
      await begin(client, 'READ WRITE', target.timeoutMs);
      const result = await work(client, known);
      // what is checked at the end is checked now, while a refusal still is one and the time is limited
      await client.query('SET CONSTRAINTS ALL IMMEDIATE');
      const late = await mayNotBegin(ctx);
      return late ? nothing(late) : commit(client, result);
    });
  } catch (error) {
    return nothing(refusal(error));
  }
}

/** The point of no return. Never throws. */
async function commit(client: pg.Client, result: string): Promise<ToolOutcome> {
  try {
    const { command } = await client.query('COMMIT');
    if (command === 'COMMIT') return done(result);
  } catch {
    // whether the server got it, and what it made of it, nobody has said
  }
  return unknown(
    'The connection was lost while the change was being committed. Query the table to see whether it is there.',
  );
}
