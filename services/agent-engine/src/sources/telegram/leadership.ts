import type { Socket } from 'node:net';
import pg from 'pg';

/** A frozen engine falls silent, and the server ends its session and with it the lock. */
const SILENT_SESSION_MS = 5_000;
const SIGN_OF_LIFE_MS = 1_000;

/**
 * An advisory lock that one session in the cluster holds at a time, on a connection of its own: with the connection the lock
 * is lost, and `lost` aborts.
 */
export class Leadership {
  readonly #lost = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #busy = false;

  private constructor(
    private readonly client: pg.Client,
    private readonly name: string,
  ) {}

  static async open(databaseUrl: string, name: string): Promise<Leadership> {
    const client = new pg.Client({
      connectionString: databaseUrl,
      application_name: `agent-engine ${name.split('.')[0]}`,
      connectionTimeoutMillis: 5_000,
      query_timeout: 10_000,
      keepAlive: true,
      options: `-c idle_session_timeout=${SILENT_SESSION_MS}`,
    });
    const leadership = new Leadership(client, name);
    // unheard, the error of a broken connection would end the process
    client.on('error', () => leadership.#lost.abort());
    client.on('end', () => leadership.#lost.abort());
    await client.connect();
    return leadership;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async lead(): Promise<boolean> {
    const { rows } = await this.client.query(
      `SELECT pg_try_advisory_lock(hashtextextended('holdpoint.' || $1 || '.' || current_schema(), 0)) AS locked`,
      [this.name],
    );
    if (rows[0].locked !== true) return false;
    this.#timer = setInterval(() => this.#live(), SIGN_OF_LIFE_MS).unref();
    return true;
  }

  #live(): void {
    if (this.#busy) return;
    this.#busy = true;
    this.client.query('SELECT').then(
      () => {
        this.#busy = false;
      },
      () => this.#lost.abort(),
    );
  }

  /** A server that is silent does not answer to a farewell either. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, 1_000);
    });
    await Promise.race([this.client.end().catch(() => undefined), late]);
    clearTimeout(timer);
    (this.client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
  }
}
