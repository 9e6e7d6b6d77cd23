import { finished } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Kysely, PostgresDialect } from 'kysely';
import { from as copyFrom } from 'pg-copy-streams';
import { clientSettings, type DatabaseOptions, ImpatientClient } from './database.js';

const CONNECT_TIMEOUT_MS = 5_000;
const FAREWELL_MS = 1_000;

/** One connection of one's own: what a session holds, such as an advisory lock, ends with it, and nobody else uses it. */
export interface DatabaseSession<T> {
  /** Queries on this very connection, one after another. */
  db: Kysely<T>;
  /** Sends rows as `COPY … FROM STDIN` takes them, within whatever transaction is open on the session. */
  copyIn(statement: string, rows: Uint8Array): Promise<void>;
  /** Never throws. */
  close(): Promise<void>;
}

/** With the settings of `openDatabase`. @throws what hinders the connection */
export async function openSession<T>(url: string, options: DatabaseOptions = {}): Promise<DatabaseSession<T>> {
  const log = new Logger('Database');
  const client = new ImpatientClient({ ...clientSettings(url, options), connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // Unheard, it would end the process; whoever uses the session learns of it at the next query.
  client.on('error', (err) => log.warn(`a connection broke: ${err.message}`));
  await client.connect();
  const only = { query: client.query.bind(client), release: () => undefined };
  const pool = { connect: async () => only, end: async () => undefined, options: {}, Client: ImpatientClient };
  return {
    db: new Kysely<T>({ dialect: new PostgresDialect({ pool: pool as never }) }),
    async copyIn(statement, rows) {
      const copy = client.query(copyFrom(statement));
      copy.end(rows);
      await finished(copy);
    },
    async close() {
      // A server that is gone takes no leave.
      const left = await Promise.race([client.end().then(() => true), delay(FAREWELL_MS, false)]).catch(() => false);
      if (!left) (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    },
  };
}
