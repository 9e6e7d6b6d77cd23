import pg from 'pg';
import { Refused } from './refused.js';

/** Holds the ledger alone; no call may write there. */
export const LEDGER_SCHEMA = 'holdpoint';

/** Undefined table, schema or column; no unique key; no privilege. */
const UNUSABLE = ['42P01', '3F000', '42703', '42P10', '42501'];

/**
 * Enters the call in the target database's own list of calls that took effect there, as part of the open transaction. While
 * another attempt at the call is between this and its commit, it waits for that.
 * @returns what an earlier attempt answered; undefined when there was none, and from then on there can be no other
 * @throws Refused when the operator has made no ledger (README, "The ledger")
 */
export async function enter(client: pg.Client, callId: string): Promise<string | undefined> {
  try {
    const entered = await client.query(
      `INSERT INTO ${LEDGER_SCHEMA}.ledger (call_id, result) VALUES ($1, '') ON CONFLICT (call_id) DO NOTHING`,
      [callId],
    );
    if (entered.rowCount === 1) return undefined;
    const { rows } = await client.query<{ result: string }>(
      `SELECT result FROM ${LEDGER_SCHEMA}.ledger WHERE call_id = $1`,
      [callId],
    );
    if (rows[0]) return rows[0].result;
    throw new Refused('The ledger of the database does not keep its rows. Whoever runs this system has to see to it.');
  } catch (error) {
    if (error instanceof pg.DatabaseError && UNUSABLE.includes(error.code ?? ''))
      throw new Refused(
        'The database has no ledger that the Database tool may use, so nothing is inserted. Whoever runs this system has to create it: see "The ledger" in the README of agent-engine.',
      );
    throw error;
  }
}

/** What a later attempt at the call will answer. */
export async function keepResult(client: pg.Client, callId: string, result: string): Promise<void> {
  await client.query(`UPDATE ${LEDGER_SCHEMA}.ledger SET result = $2 WHERE call_id = $1`, [callId, result]);
}
