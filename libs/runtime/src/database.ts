import type { Socket } from 'node:net';
import { type DynamicModule, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { registerHealth } from './health.js';

export interface DatabaseOptions {
  /** Connections at most. */
  max?: number;
  /** Shown in pg_stat_activity. */
  applicationName?: string;
}

/** Injection token of the service's `Kysely` instance. */
export const DATABASE: unique symbol = Symbol('holdpoint.database');

const INT8 = 20;

/** A query that gets no answer says that its connection is dead; kept, the next query on it would wait in vain as well. */
export class ImpatientClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: one implementation behind many overloads
  override query(...args: any[]): any {
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const answer = (super.query as any)(...args);
    if (answer instanceof Promise)
      answer.catch((err: Error) => {
        if (err.message === 'Query read timeout')
          (this as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
      });
    return answer;
  }
}

function readInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new RangeError('a bigint beyond 2^53 does not fit a number; select it as text');
  return value;
}

/** What every connection of ours is opened with; see {@link openDatabase}. */
export const clientSettings = (url: string, { applicationName = 'holdpoint' }: DatabaseOptions) => ({
  connectionString: url,
  application_name: applicationName,
  keepAlive: true,
  statement_timeout: 10_000,
  query_timeout: 12_000,
  idle_in_transaction_session_timeout: 60_000,
  types: {
    getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
      oid === INT8 ? readInt8 : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
  },
});

/**
 * A pool on the service's own role. Nothing is connected until the first query. `bigint` arrives as a number and a
 * value that does not fit one is an error. The server ends a statement after 10 s, and a transaction that lies idle for
 * 60 s, so that a frozen service gives its locks back. A connection that says nothing for 12 s is given up with its query.
 */
export function openDatabase<T>(url: string, options: DatabaseOptions = {}): Kysely<T> {
  const log = new Logger('Database');
  const pool = new pg.Pool({
    ...clientSettings(url, options),
    max: options.max ?? 10,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    Client: ImpatientClient,
  });
  // A connection that breaks while nobody waits for its answer emits here; unheard, it would end the process. The pool
  // hears the idle ones only, so each is listened to for itself: whoever holds it learns of it at the next query.
  pool.on('connect', (client) => client.on('error', (err) => log.warn(`a connection broke: ${err.message}`)));
  pool.on('error', () => undefined);
  return new Kysely<T>({ dialect: new PostgresDialect({ pool }) });
}

/** Provides `DATABASE` to the whole service, reports it to readiness, and closes the pool once requests and events are done. */
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  readonly #unregister: () => void;

  constructor(@Inject(DATABASE) private readonly db: Kysely<unknown>) {
    this.#unregister = registerHealth('database', async () => {
      await sql`select 1`.execute(this.db);
    });
  }

  static forRoot(url: string, options: DatabaseOptions = {}): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [{ provide: DATABASE, useFactory: () => openDatabase(url, options) }],
      exports: [DATABASE],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    this.#unregister();
    await this.db.destroy();
  }
}
