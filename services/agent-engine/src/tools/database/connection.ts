import pg from 'pg';
import { Refused } from './refused.js';

const CONNECT_MS = 5_000;

/**
 * One connection for one call, closed afterwards: settings, locks and cursors that a statement leaves behind end with it.
 * When `signal` aborts, the connection is cut and whatever waits on it rejects. A transaction that was not committed is
 * rolled back by the server.
 */
export async function withConnection<T>(
  url: string,
  signal: AbortSignal,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const client = new pg.Client({
    connectionString: url,
    application_name: 'holdpoint database tool',
    connectionTimeoutMillis: CONNECT_MS,
  });
  // a lost connection also rejects the query under way; without a listener it would end the process
  client.on('error', () => {});
  const cut = () => client.connection.stream.destroy();
  signal.addEventListener('abort', cut);
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => {});
    signal.removeEventListener('abort', cut);
  }
}

/**
 * Opens a transaction in which no statement and no wait for a lock lasts longer than `timeoutMs`. One that stands idle
 * ends in half of that, so that of two attempts at a call the later one gets its turn, not a refusal.
 * @throws Refused on Holdpoint's own database, by whatever address it was reached
 */
export async function begin(client: pg.Client, mode: 'READ ONLY' | 'READ WRITE', timeoutMs: number): Promise<void> {
  const ms = Math.trunc(timeoutMs);
  await client.query(
    [
      `BEGIN ISOLATION LEVEL READ COMMITTED ${mode}`,
      `SET LOCAL statement_timeout = ${ms}`,
      `SET LOCAL lock_timeout = ${ms}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${Math.ceil(ms / 2)}`,
    ].join('; '),
  );
  const { rows } = await client.query<{ own: boolean }>(
    "SELECT to_regnamespace('agent_engine') IS NOT NULL AND to_regnamespace('keyring') IS NOT NULL AS own",
  );
  if (rows[0]?.own !== false)
    throw new Refused(
      "The Database tool points at Holdpoint's own database, so it does nothing. Whoever runs this system has to set DATABASE_TOOL_URL to another one.",
    );
}

/** By the extended protocol, which takes one statement and no more, also where there are no parameters. */
export const single = (text: string, values: readonly (string | null)[]): pg.QueryConfig =>
  ({ text, values: [...values], queryMode: 'extended' }) as pg.QueryConfig;
