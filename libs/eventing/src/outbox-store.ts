import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Outgoing } from './publisher.js';

/** An event is first looked for in the stream when its row is older than this: half of the stream's duplicate window. */
const MAY_BE_FORGOTTEN = '60 seconds';
const QUERY_TIMEOUT_MS = 10_000;
const FAREWELL_MS = 1_000;

export interface Row extends Outgoing {
  rowId: string;
  entity: string;
  /** So old that the stream may have it and have forgotten its id. */
  old: boolean;
}

export interface Settled {
  eventId: string;
  seq: number | null;
  failed: string | null;
}

/** The relay asks every second. A frozen one falls silent, and the server ends its session and with it the lock. */
const SILENT_SESSION_MS = 5_000;

/** The outbox over one connection of its own, whose session holds the lock: with the connection the lock is lost. */
export class OutboxStore {
  #lost = false;

  private constructor(
    private readonly client: pg.Client,
    private readonly onPoke: () => void,
  ) {}

  static async open(databaseUrl: string, name: string, onPoke: () => void): Promise<OutboxStore> {
    const client = new pg.Client({
      connectionString: databaseUrl,
      application_name: `${name} relay`,
      connectionTimeoutMillis: 5_000,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
      options: `-c idle_session_timeout=${SILENT_SESSION_MS}`,
    });
    const store = new OutboxStore(client, onPoke);
    // Unheard, the error of a broken connection would end the process.
    client.on('error', () => store.#lose());
    client.on('end', () => store.#lose());
    client.on('notification', onPoke);
    await client.connect();
    return store;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** A server that is silent does not answer to a farewell either. */
  async close(): Promise<void> {
    const late = new AbortController();
    await Promise.race([
      this.client.end().catch(() => undefined),
      delay(FAREWELL_MS, undefined, { signal: late.signal }).catch(() => undefined),
    ]);
    late.abort();
    (this.client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
  }

  /** True for one session in the cluster at a time, which then hears the pokes of the others. */
  async lead(): Promise<boolean> {
    const { rows } = await this.client.query(
      `SELECT pg_try_advisory_lock(hashtextextended('holdpoint.outbox.' || current_schema(), 0)) AS locked,
        'outbox.' || current_schema() AS channel`,
    );
    if (!rows[0].locked) return false;
    await this.client.query(`LISTEN ${pg.escapeIdentifier(rows[0].channel)}`);
    return true;
  }

  async pokeLeader(): Promise<void> {
    await this.client.query(`SELECT pg_notify('outbox.' || current_schema(), '')`);
  }

  /** Unsent rows, the oldest first, without those behind a failed row of their entity. Never "id beyond the last": a lower id may commit later. */
  async unsent(limit: number): Promise<Row[]> {
    const { rows } = await this.client.query({
      name: 'unsent',
      text: `SELECT id::text, event_id, entity, subject, body, once,
          created_at < clock_timestamp() - interval '${MAY_BE_FORGOTTEN}' AS old
        FROM outbox o
        WHERE sent_at IS NULL AND failed IS NULL
          AND NOT EXISTS (SELECT FROM outbox f WHERE f.entity = o.entity AND f.failed IS NOT NULL)
        ORDER BY o.id LIMIT $1`,
      values: [limit],
    });
    return rows.map((row) => ({
      rowId: row.id,
      id: row.event_id,
      entity: row.entity,
      subject: row.subject,
      once: row.once,
      bytes: Buffer.from(row.body, 'utf8'),
      old: row.old,
    }));
  }

  async markSent(sent: { rowId: string; seq: number }[]): Promise<void> {
    await this.client.query({
      name: 'mark-sent',
      text: `UPDATE outbox SET sent_at = clock_timestamp(), seq = s.seq
        FROM jsonb_to_recordset($1::jsonb) AS s(id bigint, seq bigint)
        WHERE outbox.id = s.id AND outbox.sent_at IS NULL`,
      values: [JSON.stringify(sent.map(({ rowId, seq }) => ({ id: rowId, seq })))],
    });
  }

  async markFailed(rowId: string, why: string): Promise<void> {
    await this.client.query('UPDATE outbox SET failed = $2 WHERE id = $1 AND sent_at IS NULL', [rowId, why]);
  }

  /** What became of events, as far as it is settled. */
  async settled(eventIds: string[]): Promise<Settled[]> {
    const { rows } = await this.client.query({
      name: 'settled',
      text: `SELECT event_id, seq::text, failed FROM outbox
        WHERE event_id = ANY($1) AND (sent_at IS NOT NULL OR failed IS NOT NULL)`,
      values: [eventIds],
    });
    return rows.map((r) => ({ eventId: r.event_id, seq: r.seq === null ? null : Number(r.seq), failed: r.failed }));
  }

  async failures(): Promise<number> {
    const { rows } = await this.client.query('SELECT count(*)::int AS n FROM outbox WHERE failed IS NOT NULL');
    return rows[0].n;
  }

  #lose(): void {
    this.#lost = true;
    this.onPoke();
  }
}
