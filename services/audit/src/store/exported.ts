import { type Kysely, type Selectable, sql } from 'kysely';
import type { StoredEntry } from '../domain/rows.js';
import { toEntry } from './audit-log.js';
import { toReceipt } from './run-receipts.js';
import type { Database } from './schema.js';

/** What of the log goes into an export. What is absent does not filter. */
export interface ExportFilter {
  spaces?: string[];
  /** Every event of the calls that have an entry with this tool. */
  tool?: string;
  /** The run's own events, and every event of its calls. */
  run?: string;
  from?: string;
  to?: string;
}

export type ExportedRow = Pick<
  Selectable<Database['event_log']>,
  'stream_seq' | 'subject' | 'body' | 'stored_at' | 'space_id' | 'fault' | 'duplicate'
>;

const ROWS_A_PAGE = 500;
const BYTES_A_PAGE = 4 * 1024 * 1024;
/** Looked through in one query: a filter that hardly anything matches costs many short ones, never one long one. */
const SEQUENCES_A_LOOK = 10_000;
const SEQUENCES_A_COUNT = 50_000;

/** The log up to a sequence, filtered: the same whenever it is read, however much has been logged since. */
export class Exported {
  private constructor(
    private readonly db: Kysely<Database>,
    private readonly filter: ExportFilter,
    private readonly callsOfRun: string[],
    private readonly firstSeq: number,
    private readonly lastSeq: number,
  ) {}

  static async of(db: Kysely<Database>, filter: ExportFilter, firstSeq: number, lastSeq: number): Promise<Exported> {
    const calls =
      filter.run === undefined
        ? []
        : await db
            .selectFrom('event_log')
            .select('call_id')
            .distinct()
            .where('run_id', '=', filter.run)
            .where('type', 'in', ['tool.proposed', 'tool.executed'])
            .where('stream_seq', '<=', lastSeq)
            .execute();
    const callIds = calls.flatMap((c) => c.call_id ?? []);
    return new Exported(db, filter, callIds, firstSeq, lastSeq);
  }

  /** Pages of rows behind `seq` in stream order, each small enough to hold in memory, with what was derived from them. */
  async *pages(seq: number) {
    for (let at = seq; at < this.lastSeq; ) {
      const end = Math.min(at + SEQUENCES_A_LOOK, this.lastSeq);
      const rows = await this.#rows(at, end);
      if (rows.length > 0) yield { rows, ...(await this.#derived(rows.map((r) => r.stream_seq))) };
      at = rows.at(-1)?.stream_seq ?? end;
    }
  }

  /** What there is up to and with `seq`. */
  async countUpTo(seq: number): Promise<{ events: number; entries: number; receipts: number }> {
    const sum = { events: 0, entries: 0, receipts: 0 };
    for (let at = this.firstSeq - 1; at < seq; at += SEQUENCES_A_COUNT) {
      const { rows } = await sql<typeof sum>`
        SELECT count(*) AS events, count(a.stream_seq) AS entries, count(r.stream_seq) AS receipts
        FROM event_log AS e LEFT JOIN audit_log AS a USING (stream_seq) LEFT JOIN run_receipts AS r USING (stream_seq)
        WHERE e.stream_seq > ${at} AND e.stream_seq <= ${Math.min(at + SEQUENCES_A_COUNT, seq)} AND ${this.#matches()}
      `.execute(this.db);
      for (const name of ['events', 'entries', 'receipts'] as const) sum[name] += rows[0]?.[name] ?? 0;
    }
    return sum;
  }

  async #rows(after: number, upTo: number): Promise<ExportedRow[]> {
    const { rows } = await sql<ExportedRow>`
      SELECT stream_seq, subject, body, stored_at, space_id, fault, duplicate
      FROM (
        SELECT e.*, sum(octet_length(e.body)) OVER (ORDER BY e.stream_seq) - octet_length(e.body) AS before
        FROM event_log AS e
        WHERE e.stream_seq > ${after} AND e.stream_seq <= ${upTo} AND ${this.#matches()}
        ORDER BY e.stream_seq LIMIT ${ROWS_A_PAGE}
      ) AS page
      WHERE before < ${BYTES_A_PAGE} ORDER BY stream_seq
    `.execute(this.db);
    return rows;
  }

  #matches() {
    const { spaces, tool, run, from, to } = this.filter;
    const all = [sql<boolean>`true`];
    if (spaces) all.push(sql`e.space_id = any(${spaces}::text[])`);
    if (run) all.push(sql`(e.run_id = ${run} OR e.call_id = any(${this.callsOfRun}::text[]))`);
    if (from) all.push(sql`e.stored_at >= ${new Date(from)}`);
    if (to) all.push(sql`e.stored_at < ${new Date(to)}`);
    if (tool)
      all.push(sql`EXISTS (SELECT FROM audit_log AS t WHERE t.call_id = e.call_id AND t.space_id = e.space_id
        AND t.tool = ${tool} AND t.stream_seq <= ${this.lastSeq})`);
    return sql.join(all, sql` AND `);
  }

  async #derived(seqs: number[]) {
    const [entries, receipts] = await Promise.all([
      this.db
        .selectFrom('audit_log')
        .selectAll()
        .where('stream_seq', '=', sql<number>`any(${seqs}::bigint[])`)
        .execute(),
      this.db
        .selectFrom('run_receipts')
        .selectAll()
        .where('stream_seq', '=', sql<number>`any(${seqs}::bigint[])`)
        .execute(),
    ]);
    return {
      entries: new Map<number, StoredEntry>(entries.map((row) => [row.stream_seq, toEntry(row)])),
      receipts: new Map(receipts.map((row) => [row.stream_seq, toReceipt(row)])),
    };
  }
}
