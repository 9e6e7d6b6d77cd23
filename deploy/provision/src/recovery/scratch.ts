import type { ProjectedTable, Projection, Row, RowKey, Rows } from '@holdpoint/contracts';
import pg from 'pg';

const id = pg.escapeIdentifier;
/** No service has a table of this name. */
const PROGRESS = 'progress of the rebuild';

export interface Column {
  name: string;
  type: string;
}

/** The tables of a service's schema as it has them, and the same anew in a schema of their own, which is filled and thrown away. */
export class Scratch {
  readonly schema: string;
  readonly columns = new Map<string, Column[]>();
  readonly #reads = new Map<string, string>();
  readonly #writes = new Map<string, string>();
  readonly #removes = new Map<string, string>();

  constructor(
    readonly client: pg.Client,
    readonly real: string,
    readonly projection: Projection,
  ) {
    this.schema = `rebuild_${real}`;
  }

  /**
   * Goes on with what an earlier try has filled, when it was made for the same tables; else begins anew.
   * @returns the sequence to go on with, null to begin
   */
  async open(): Promise<number | null> {
    for (const { name } of this.projection.tables) this.columns.set(name, await this.#columnsOf(name));
    const madeFor = JSON.stringify([this.projection.tables, [...this.columns]]);
    const { rows } = await this.client.query('SELECT to_regclass($1) IS NOT NULL AS there', [this.#t(PROGRESS)]);
    if (rows[0].there) {
      const { rows: found } = await this.client.query(`SELECT next_seq::text, made_for FROM ${this.#t(PROGRESS)}`);
      if (found[0]?.made_for === madeFor) {
        this.#prepare();
        return Number(found[0].next_seq) || null;
      }
    }
    await this.client.query('BEGIN');
    await this.drop();
    await this.client.query(`CREATE SCHEMA ${id(this.schema)}`);
    // Unlogged, position and rows alike: after a crash of the server all of it is empty, and it begins anew.
    for (const { name, key } of this.projection.tables)
      await this.client.query(
        `CREATE UNLOGGED TABLE ${this.#t(name)} (LIKE ${id(this.real)}.${id(name)} INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
           PRIMARY KEY (${key.map(id).join(', ')}))`,
      );
    for (const name of this.projection.notes ?? [])
      await this.client.query(`CREATE UNLOGGED TABLE ${this.#t(name)} (id text PRIMARY KEY, value jsonb NOT NULL)`);
    await this.client.query(
      `CREATE UNLOGGED TABLE ${this.#t(PROGRESS)} (next_seq bigint NOT NULL, made_for text NOT NULL)`,
    );
    await this.client.query(`INSERT INTO ${this.#t(PROGRESS)} VALUES (0, $1)`, [madeFor]);
    await this.client.query('COMMIT');
    this.#prepare();
    return null;
  }

  async drop(): Promise<void> {
    await this.client.query(`DROP SCHEMA IF EXISTS ${id(this.schema)} CASCADE`);
  }

  /** The next sequence to take in; committed with the rows that follow from those before. */
  async advance(next: number): Promise<void> {
    await this.client.query(`UPDATE ${this.#t(PROGRESS)} SET next_seq = $1`, [next]);
  }

  /** What is in the scratch under these keys, for one batch of events; `write` puts down what has changed. */
  async load(keys: readonly RowKey[]): Promise<Batch> {
    const batch = new Batch(this.projection);
    for (const [table, same] of Map.groupBy(keys, ([name]) => name)) {
      batch.declare(same);
      const { key } = batch.tableOf(table);
      const wanted = new Map(same.map((k) => [k.join('\n'), k.slice(1)]));
      const records = [...wanted.values()].map((k) => Object.fromEntries(key.map((name, i) => [name, k[i]])));
      const { rows } = await this.client.query({
        name: `load-${this.schema}.${table}`,
        text: this.#reads.get(table) as string,
        values: [JSON.stringify(records)],
      });
      for (const { row } of rows) batch.found(table, row);
    }
    return batch;
  }

  async write(batch: Batch): Promise<void> {
    for (const [table, rows, statements] of [
      ...batch.removed().map(([t, r]) => [t, r, this.#removes] as const),
      ...batch.changed().map(([t, r]) => [t, r, this.#writes] as const),
    ])
      await this.client.query(statements.get(table) as string, [JSON.stringify(rows)]);
  }

  async #columnsOf(table: string): Promise<Column[]> {
    const { rows } = await this.client.query(
      `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
       WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
      [`${id(this.real)}.${id(table)}`],
    );
    if (rows.length === 0) throw new Error(`there is no table ${this.real}.${table}: provision first`);
    return rows;
  }

  #prepare(): void {
    const notes = [{ name: 'id', type: 'text' }];
    const tables = [
      ...this.projection.tables.map((t) => ({ computed: {}, ...t, columns: this.columns.get(t.name) as Column[] })),
      ...(this.projection.notes ?? []).map((name) => ({
        name,
        key: ['id'],
        computed: {},
        columns: [...notes, { name: 'value', type: 'jsonb' }],
      })),
    ];
    for (const { name, key, columns, computed } of tables) {
      const t = this.#t(name);
      const typed = key.map((k) => `${id(k)} ${columns.find((c) => c.name === k)?.type}`).join(', ');
      const keys = key.map(id).join(', ');
      this.#reads.set(
        name,
        `SELECT to_jsonb(t) AS row FROM ${t} t JOIN jsonb_to_recordset($1::jsonb) AS k(${typed}) USING (${keys})`,
      );
      this.#removes.set(
        name,
        `DELETE FROM ${t} WHERE (${keys}) IN (SELECT ${keys} FROM jsonb_to_recordset($1::jsonb) AS k(${typed}))`,
      );
      const all = columns.map((c) => id(c.name)).join(', ');
      const values = columns.map((c) => (computed as Record<string, string>)[c.name] ?? id(c.name)).join(', ');
      const set = columns.filter((c) => !key.includes(c.name)).map((c) => `${id(c.name)} = excluded.${id(c.name)}`);
      this.#writes.set(
        name,
        `INSERT INTO ${t} (${all}) SELECT ${values} FROM jsonb_populate_recordset(null::${t}, $1::jsonb) t
         ON CONFLICT (${keys}) ${set.length > 0 ? `DO UPDATE SET ${set.join(', ')}` : 'DO NOTHING'}`,
      );
    }
  }

  #t(name: string): string {
    return `${id(this.schema)}.${id(name)}`;
  }
}

/** The rows that some events are about, in memory: as they were, and as the events leave them. */
export class Batch implements Rows {
  readonly #declared = new Set<string>();
  readonly #rows = new Map<string, { table: string; row: Row | undefined; changed: boolean }>();
  /** By the same keys, the columns of the keys of rows that were removed. */
  readonly #gone = new Map<string, Row>();

  constructor(private readonly projection: Projection) {}

  tableOf(name: string): ProjectedTable {
    const table = this.projection.tables.find((t) => t.name === name);
    if (table) return table;
    if (this.projection.notes?.includes(name)) return { name, key: ['id'] };
    throw new Error(`the projection has no table ${name}`);
  }

  declare(keys: readonly RowKey[]): void {
    for (const key of keys) this.#declared.add(key.join('\n'));
  }

  found(table: string, row: Row): void {
    this.#rows.set(this.#key(table, row), { table, row, changed: false });
  }

  /** @throws when the projection did not say that it reads this row: what it saw would depend on what else is in the batch */
  get(...key: RowKey): Row | undefined {
    const k = key.join('\n');
    if (!this.#declared.has(k)) throw new Error(`the projection reads ${key.join(' ')}, and did not say so`);
    return this.#rows.get(k)?.row;
  }

  put(table: string, row: Row): void {
    // As the database hands a row out again: dates as text, nothing undefined.
    const plain = JSON.parse(JSON.stringify(row)) as Row;
    this.#rows.set(this.#key(table, plain), { table, row: plain, changed: true });
  }

  remove(...[table, ...key]: RowKey): void {
    const names = this.tableOf(table).key;
    const row = Object.fromEntries(names.map((name, i) => [name, key[i]]));
    this.#rows.set([table, ...key].join('\n'), { table, row: undefined, changed: true });
    this.#gone.set([table, ...key].join('\n'), row);
  }

  changed(): [table: string, rows: Row[]][] {
    const rows = [...this.#rows.values()].filter((r) => r.changed && r.row !== undefined);
    return [...Map.groupBy(rows, (r) => r.table)].map(([t, some]) => [t, some.map((r) => r.row as Row)]);
  }

  removed(): [table: string, keys: Row[]][] {
    const gone = [...this.#rows].filter(([, r]) => r.changed && r.row === undefined);
    return [...Map.groupBy(gone, ([, r]) => r.table)].map(([t, some]) => [
      t,
      some.map(([k]) => this.#gone.get(k) as Row),
    ]);
  }

  /** A row whose key the database computes is known by all that it is. */
  #key(table: string, row: Row): string {
    const { key, computed = {} } = this.tableOf(table);
    return [table, ...key.map((k) => (k in computed ? JSON.stringify(row) : String(row[k])))].join('\n');
  }
}
