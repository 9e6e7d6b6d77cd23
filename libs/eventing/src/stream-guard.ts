import { Unavailable } from '@holdpoint/runtime';
import { sql } from 'kysely';
import type { Bus } from './bus.js';
import type { AnyDatabase } from './event-context.js';
import type { StreamReader } from './stream-reader.js';

/** Rows may be marked a little out of the order of their sequences. */
const LATEST_ROWS = 100;

/** The stream lacks what this service has published. Nothing is published until it is refilled. */
class StreamBehind extends Unavailable {}

/**
 * Keeps a service from publishing to a stream that was lost or restored from a backup: with one new event in it the stream
 * could not be refilled from the log any more. Asked once a connection to the bus, since no server loses its stream while it
 * runs: the last event that the service has published must be there, or a later one on its subject.
 */
export class StreamGuard {
  #passed = 0;
  #fault: StreamBehind | undefined;

  constructor(
    private readonly bus: Bus,
    private readonly reader: StreamReader,
    private readonly db: AnyDatabase,
  ) {}

  /** @throws StreamBehind, and Unavailable while stream or database give no answer */
  async admit(): Promise<void> {
    const { connections } = this.bus;
    if (this.#passed === connections) return;
    const last = await this.#lastSent();
    const stored = last && (await this.reader.lastRaw(last.subject));
    if (last && (stored === null || stored.seq < last.seq)) {
      this.#fault = new StreamBehind(
        `the stream lacks sequence ${last.seq}, which this service has published: it was lost or restored from a backup. Stop all services and refill it from the log (docs/recovery.md).`,
      );
      throw this.#fault;
    }
    this.#fault = undefined;
    this.#passed = connections;
  }

  /** @throws StreamBehind while it is known to be */
  check(): void {
    if (this.#fault) throw this.#fault;
  }

  /** What is older may have left the stream by its age. */
  async #lastSent(): Promise<{ subject: string; seq: number } | null> {
    const { rows } = await sql<{ subject: string; seq: string }>`
      SELECT subject, seq::text FROM (
        SELECT subject, seq FROM outbox WHERE sent_at > clock_timestamp() - interval '30 days'
        ORDER BY id DESC LIMIT ${sql.lit(LATEST_ROWS)}) latest
      ORDER BY latest.seq DESC LIMIT 1`.execute(this.db);
    return rows[0] ? { subject: rows[0].subject, seq: Number(rows[0].seq) } : null;
  }
}
