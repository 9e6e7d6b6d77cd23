/** Leaves from `start` up to and without `end`; stands for the hash over them, MTH(D[start:end]) of RFC 9162. */
export interface Range {
  start: number;
  end: number;
}

/** A full subtree: 2^height leaves, the index-th of its kind from the left. */
export interface PerfectNode {
  height: number;
  index: number;
}

/** The largest power of two below `n`, which is at least 2. */
function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

/** PATH(index, D[size]) of RFC 9162, section 2.1.3.1: from the leaf's sibling up. @throws RangeError */
export function inclusionRanges(index: number, size: number): Range[] {
  if (!(index >= 0 && index < size)) throw new RangeError(`leaf ${index} is not in a tree of ${size} leaves`);
  const down: Range[] = [];
  for (let [start, end] = [0, size]; end - start > 1; ) {
    const middle = start + split(end - start);
    down.push(index < middle ? { start: middle, end } : { start, end: middle });
    if (index < middle) end = middle;
    else start = middle;
  }
  return down.reverse();
}

/** PROOF(from, D[to]) of RFC 9162, section 2.1.4.1. @throws RangeError */
export function consistencyRanges(from: number, to: number): Range[] {
  if (!(from >= 1 && from <= to)) throw new RangeError(`a tree of ${to} leaves does not grow out of one of ${from}`);
  const down: Range[] = [];
  let [start, end] = [0, to];
  while (from < end) {
    const middle = start + split(end - start);
    down.push(from <= middle ? { start: middle, end } : { start, end: middle });
    if (from <= middle) end = middle;
    else start = middle;
  }
  // Whoever asks has the old tree's own root already.
  if (start > 0) down.push({ start, end });
  return down.reverse();
}

/** The full subtrees that a range is made of, from left to right. */
export function perfectNodes({ start, end }: Range): PerfectNode[] {
  const nodes: PerfectNode[] = [];
  for (let at = start; at < end; ) {
    let height = 0;
    while (at % 2 ** (height + 1) === 0 && at + 2 ** (height + 1) <= end) height++;
    nodes.push({ height, index: at / 2 ** height });
    at += 2 ** height;
  }
  return nodes;
}
