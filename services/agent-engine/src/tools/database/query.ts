import { begin, single, withConnection } from './connection.js';
import { Refused } from './refused.js';
import { asParameter, type Value } from './value.js';

export const DEFAULT_ROWS = 200;
export const MAX_ROWS = 1_000;
export const MAX_RESULT_BYTES = 128 * 1024;

/**
 * The rows of one SELECT as JSON text, `{"rows":[{…}],"more":false}`, made by the server itself: integers and numerics of
 * any length are written out digit by digit. At most `limit` rows and `MAX_RESULT_BYTES`; `more` when there are others.
 *
 * What keeps it from changing anything, each by itself: a cursor and a subquery take a query only, one in a statement; the
 * transaction is read-only, which cannot be taken back once it has begun to read; and it is never committed. The statement
 * is first parsed alone, so it cannot close the brackets it is put into. Time is limited by the server for the statement
 * under way, whatever that sets.
 */
export function query(
  url: string,
  timeoutMs: number,
  ask: { sql: string; params: readonly Value[]; limit: number },
  signal: AbortSignal,
): Promise<string> {
  const params = ask.params.map(asParameter);
  return withConnection(url, signal, async (client) => {
    await begin(client, 'READ ONLY', timeoutMs);
    await client.query(single(`DECLARE alone NO SCROLL CURSOR FOR ${ask.sql}`, params));
    const { fields } = await client.query('FETCH 0 FROM alone');
    const names = fields.map((f) => f.name);
    const twice = names.find((name, i) => names.indexOf(name) < i);
    if (twice !== undefined)
      throw new Refused(`Two columns of the result are called ${twice}. Give each its own name with AS.`);

    const sql = ask.sql.replace(/;\s*$/, '');
    const { rows } = await client.query<{ line: string | null }>(
      single(
        `SELECT CASE WHEN sum(octet_length(l.line)) OVER (ROWS UNBOUNDED PRECEDING) <= ${MAX_RESULT_BYTES} THEN l.line END AS line
           FROM (SELECT row_to_json(r)::text AS line FROM (\n${sql}\n) AS r LIMIT ${Math.trunc(ask.limit) + 1}) AS l`,
        params,
      ),
    );
    const within = rows.slice(0, ask.limit);
    const cut = within.findIndex((r) => r.line === null);
    if (cut === 0) throw new Refused('One row alone is too long for a result. Select fewer columns, or parts of them.');
    const lines = within.slice(0, cut < 0 ? undefined : cut).map((r) => r.line);
    return `{"rows":[${lines.join(',')}],"more":${lines.length < rows.length}}`;
  });
}
