import type { HoldpointEvent } from './events/catalogue.js';

/** A row as PostgreSQL's `to_jsonb` hands it out and `jsonb_populate_recordset` takes it in. */
export type Row = Readonly<Record<string, unknown>>;

export interface ProjectedTable {
  name: string;
  key: readonly string[];
  /** Columns that no event tells, and why in the table's comment. A row that is new gets a stand-in; none is compared. */
  untold?: readonly string[];
  /** Columns that may change without an event: compared by this SQL over the row, not by their value. */
  comparedAs?: Readonly<Record<string, string>>;
  /** Columns that the database makes of the others, as this SQL over the row. */
  computed?: Readonly<Record<string, string>>;
}

/** An event in its place. An event that waits in an outbox has none yet. */
export interface Fact {
  event: HoldpointEvent;
  seq: number | null;
  /** The stream's clock when it stored the event; the event's own where it is not stored. */
  streamTime: Date;
}

export type RowKey = readonly [table: string, ...key: string[]];

/** The rows that a projection said it reads. */
export interface Rows {
  get(...key: RowKey): Row | undefined;
  put(table: string, row: Row): void;
  remove(...key: RowKey): void;
}

/**
 * How a service's `from-stream` and `derived` tables follow from the events, in stream order. Pure, and taken twice nothing
 * changes. It tells the rows that the service itself has once it has handled everything; where the service decides row
 * first, they follow from the events that tell of its decisions.
 */
export interface Projection {
  /** A table stands behind those that it refers to. */
  tables: readonly ProjectedTable[];
  /** What `apply` remembers for itself, by name: rows of `id` and `value` that are no table of the service's. */
  notes?: readonly string[];
  /** Tables that another program makes of what is here, each with which. A rebuild leaves them alone, and names them. */
  elsewhere?: Readonly<Record<string, string>>;
  /** Every row that `apply` looks at. */
  reads(fact: Fact): readonly RowKey[];
  apply(fact: Fact, rows: Rows): void;
  /**
   * Whether an event that still awaits its answer (`awaits`) would bring nothing about by now, so that none will come.
   * May read what `reads` of the event named.
   */
  isMoot?(fact: Fact, rows: Rows): boolean;
}

/** The table of `eventingTables` that remembers which events had their effect. */
export const INBOX: ProjectedTable = { name: 'inbox', key: ['consumer', 'event_id'], untold: ['received_at'] };

/** The note of events whose effect is an event of the service's own, which has not come yet. */
export const AWAITING = 'awaiting';

/** What an event that awaits its answer is noted with. */
export interface Awaiting {
  consumer: string;
  seq: number;
  event: HoldpointEvent;
}

/** Remembers that the event had its effect: the service will not handle it again. */
export function took(rows: Rows, consumer: string, { event, seq, streamTime }: Fact): void {
  if (seq === null || rows.get('inbox', consumer, event.id)) return;
  rows.put('inbox', { consumer, event_id: event.id, stream_seq: seq, received_at: streamTime.toISOString() });
}

/** The effect of the event is only known to have happened once an event of the service's own answers it. */
export function awaits(rows: Rows, consumer: string, { event, seq }: Fact): void {
  if (seq === null || rows.get('inbox', consumer, event.id) || rows.get(AWAITING, event.id)) return;
  rows.put(AWAITING, { id: event.id, value: { consumer, seq, event } satisfies Awaiting });
}

/** The answer to `eventId` is here: what it answers had its effect, and is remembered as such where the service does. */
export function answers(rows: Rows, eventId: string | undefined, remembered = true): void {
  const note = eventId === undefined ? undefined : rows.get(AWAITING, eventId);
  if (note === undefined || eventId === undefined) return;
  const { consumer, seq, event } = note['value'] as Awaiting;
  rows.remove(AWAITING, eventId);
  if (remembered) took(rows, consumer, { event, seq, streamTime: new Date(event.time) });
}

/** Names of the tables that it accounts for, sorted. */
export const projectionTables = ({ tables }: Projection): string[] => tables.map((t) => t.name).sort();
