/** Where the log stands: every sequence from `firstSeq` to `lastSeq` is stored. */
export interface Position {
  firstSeq: number;
  lastSeq: number;
}

/** What to do about a delivery, in this order. */
export type Step<T> = { fetch: { from: number; to: number } } | { append: T[] };

export interface Arrangement<T> {
  /** Stored already: redelivered, to be held against what is stored. */
  again: T[];
  steps: Step<T>[];
}

/**
 * Sorts a delivery into what a log that needs `next` does about it. The stream has no deletions, so a hole is never skipped:
 * its messages were handed out before, to somebody who did not store them, and are fetched by sequence.
 */
export function arrange<T extends { seq: number }>(next: number, delivery: readonly T[]): Arrangement<T> {
  const sorted = delivery.toSorted((a, b) => a.seq - b.seq);
  const steps: Step<T>[] = [];
  let expected = next;
  let run: T[] = [];
  for (const message of sorted) {
    if (message.seq < expected) continue;
    if (message.seq > expected) steps.push({ fetch: { from: expected, to: message.seq - 1 } });
    if (message.seq > expected || run.length === 0) {
      run = [];
      steps.push({ append: run });
    }
    run.push(message);
    expected = message.seq + 1;
  }
  return { again: sorted.filter((m) => m.seq < next), steps };
}
