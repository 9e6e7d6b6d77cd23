/** Where the log stands: every sequence from `firstSeq` to `lastSeq` is stored. */
export interface Position {
  firstSeq: number;
  lastSeq: number;
}

/** What a delivery means to a log that stands before `next`. */
export interface Arrangement<T> {
  /** Stored already; a redelivery, to be held against what is stored. */
  again: T[];
  /** To be stored, in order. `missing` comes before `fresh`, and holes inside `fresh` are in it too. */
  fresh: T[];
  missing: { from: number; to: number }[];
}

/** Sorts a delivery by sequence and names what lies between. The stream has no deletions, so a hole is never skipped. */
export function arrange<T extends { seq: number }>(next: number, delivery: readonly T[]): Arrangement<T> {
  const sorted = delivery.toSorted((a, b) => a.seq - b.seq);
  const fresh: T[] = [];
  const missing: { from: number; to: number }[] = [];
  let expected = next;
  for (const message of sorted) {
    if (message.seq < expected) continue;
    if (message.seq > expected) missing.push({ from: expected, to: message.seq - 1 });
    fresh.push(message);
    expected = message.seq + 1;
  }
  return { again: sorted.filter((m) => m.seq < next), fresh, missing };
}
