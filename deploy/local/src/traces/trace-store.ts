import type { Span } from './otlp.js';

const MOST_TRACES = 200;
const MOST_SPANS_OF_A_TRACE = 2_000;
const MOST_SPANS = 10_000;

export interface Trace {
  id: string;
  spans: Span[];
  /** Spans that there was no room for. */
  left: number;
}

/** The traces that were heard of last, in memory, within bounds; whatever is beyond them is forgotten, the oldest first. */
export class TraceStore {
  readonly #traces = new Map<string, Trace>();
  #spans = 0;

  add(spans: readonly Span[]): void {
    for (const span of spans) {
      const trace = this.#traces.get(span.traceId) ?? { id: span.traceId, spans: [], left: 0 };
      this.#traces.delete(trace.id);
      this.#traces.set(trace.id, trace);
      if (trace.spans.length === MOST_SPANS_OF_A_TRACE) trace.left++;
      else {
        trace.spans.push(span);
        this.#spans++;
      }
      while (this.#traces.size > MOST_TRACES || this.#spans > MOST_SPANS) this.#forgetOldest();
    }
  }

  find(id: string): Trace | undefined {
    return this.#traces.get(id);
  }

  /** Those heard of last come first. */
  list(): Trace[] {
    return [...this.#traces.values()].reverse();
  }

  #forgetOldest(): void {
    const [id, trace] = this.#traces.entries().next().value as [string, Trace];
    this.#traces.delete(id);
    this.#spans -= trace.spans.length;
  }
}
