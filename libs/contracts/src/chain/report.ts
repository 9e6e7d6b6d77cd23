/** A stored message: as a stream gives it, or its JSON already read. */
export type StreamMessage = { seq: number; subject: string } & ({ bytes: Uint8Array } | { json: unknown });

/** Something in the stream that the tables of the charter do not allow. */
export interface Violation {
  /** Stable, such as `call.not-released`. */
  code: string;
  /** Sequence of the message at fault, or the last one of the stream when something is missing. */
  seq: number;
  /** `call/<id>`, `run/<id>`, `task/<id>` or `stream`. */
  entity: string;
  /** Plain words from metadata alone, safe to print. */
  message: string;
}

/** An entity that has not come to its end. */
export interface OpenEntity {
  entity: string;
  spaceId: string;
  state: string;
  /** Sequence of its latest event. */
  seq: number;
}

export interface CheckCounts {
  messages: number;
  /** Same event id, same bytes: what an at-least-once relay leaves behind. */
  duplicates: number;
  /** Verdicts and abandonments that came second and so count for nothing. */
  superseded: number;
  /** Entities whose beginning the stream no longer holds; nothing can be said about them. */
  cut: number;
  proposed: number;
  auto: number;
  denied: number;
  abandoned: number;
  /** Calls that were put before a person. */
  held: number;
  approved: number;
  rejected: number;
  expired: number;
  withdrawn: number;
  /** Calls that a tool answered, by `Ok` or `Error`. */
  executed: number;
  /** Calls that came to an end without a tool being asked. */
  refused: number;
  inDoubt: number;
  /** Doubts that a person settled. */
  settled: number;
  tasks: number;
  /** Tasks that wake an agent after a held call. */
  woken: number;
  runs: number;
  /** Runs that ended: the event is the receipt. */
  receipts: number;
}

export interface CheckReport {
  violations: Violation[];
  counts: CheckCounts;
  open: OpenEntity[];
  /** Sequences of the first and last message; 0 when there was none. */
  firstSeq: number;
  lastSeq: number;
}

export const noCounts = (): CheckCounts => ({
  messages: 0,
  duplicates: 0,
  superseded: 0,
  cut: 0,
  proposed: 0,
  auto: 0,
  denied: 0,
  abandoned: 0,
  held: 0,
  approved: 0,
  rejected: 0,
  expired: 0,
  withdrawn: 0,
  executed: 0,
  refused: 0,
  inDoubt: 0,
  settled: 0,
  tasks: 0,
  woken: 0,
  runs: 0,
  receipts: 0,
});
