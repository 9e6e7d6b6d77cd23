import type { Span } from './otlp.js';

/** A gap in which nothing went on, such as the wait for a person, is drawn this wide, as a share of the rest. */
const GAP_SHARE = 0.06;
const SHORTEST_GAP_MS = 250;

/** Spans as a tree, each under what brought it about, in the order of time. One whose parent is unknown here stands at the top. */
export function inOrder(spans: readonly Span[]): { span: Span; depth: number }[] {
  const known = new Set(spans.map((s) => s.spanId));
  const children = Map.groupBy(
    [...spans].sort((a, b) => a.from - b.from),
    (s) => (s.parentId !== undefined && known.has(s.parentId) && s.parentId !== s.spanId ? s.parentId : ''),
  );
  const rows: { span: Span; depth: number }[] = [];
  const seen = new Set<Span>();
  const stack = (children.get('') ?? []).toReversed().map((span) => ({ span, depth: 0 }));
  for (let row = stack.pop(); row; row = stack.pop()) {
    if (seen.has(row.span)) continue;
    seen.add(row.span);
    rows.push(row);
    const depth = row.depth + 1;
    for (const span of (children.get(row.span.spanId) ?? []).toReversed()) stack.push({ span, depth });
  }
  // spans that are each other's parents: nobody sends such, but then anybody may send anything
  for (const span of spans) if (!seen.has(span)) rows.push({ span, depth: 0 });
  return rows;
}

export interface Scale {
  /** Place of a moment, from 0 to 1. */
  at(ms: number): number;
  gaps: { from: number; to: number; ms: number }[];
}

/** Time from the first to the last span, with long gaps drawn short: an approval may take a month. */
export function scaleOf(spans: readonly Span[]): Scale {
  const busy: { from: number; to: number }[] = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = busy.at(-1);
    if (last && from <= last.to + SHORTEST_GAP_MS) last.to = Math.max(last.to, to);
    else busy.push({ from, to });
  }
  const work = busy.reduce((sum, b) => sum + (b.to - b.from), 0) || 1;
  const gap = GAP_SHARE * work;
  const total = work + gap * (busy.length - 1);
  const starts: number[] = [];
  let drawn = 0;
  for (const b of busy) {
    starts.push(drawn / total);
    drawn += b.to - b.from + gap;
  }
  return {
    at(ms) {
      const i = Math.max(
        0,
        busy.findLastIndex((b) => b.from <= ms),
      );
      const b = busy[i];
      return b === undefined ? 0 : (starts[i] ?? 0) + (Math.min(ms, b.to) - b.from) / total;
    },
    gaps: busy.slice(1).map((b, i) => {
      const before = busy[i] as { to: number; from: number };
      const from = (starts[i] ?? 0) + (before.to - before.from) / total;
      return { from, to: starts[i + 1] ?? 1, ms: b.from - before.to };
    }),
  };
}
