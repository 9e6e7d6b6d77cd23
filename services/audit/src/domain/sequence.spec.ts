import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { arrange } from './sequence.js';

const messages = (...seqs: number[]) => seqs.map((seq) => ({ seq }));

describe('a delivery, to a log that needs sequence 5', () => {
  it('appends what follows', () => {
    expect(arrange(5, messages(5, 6, 7))).toEqual({ again: [], steps: [{ append: messages(5, 6, 7) }] });
  });
  it('sets aside what is stored already', () => {
    expect(arrange(5, messages(3, 4, 5))).toEqual({ again: messages(3, 4), steps: [{ append: messages(5) }] });
    expect(arrange(5, messages(4)).steps).toEqual([]);
  });
  it('fetches what was handed out before and never stored', () => {
    expect(arrange(5, messages(8, 10)).steps).toEqual([
      { fetch: { from: 5, to: 7 } },
      { append: messages(8) },
      { fetch: { from: 9, to: 9 } },
      { append: messages(10) },
    ]);
  });
  it('whatever is delivered: the steps cover each sequence up to the highest exactly once, in order', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.array(fc.integer({ min: 1, max: 40 })), (next, seqs) => {
        const { again, steps } = arrange(next, messages(...seqs));
        const covered = steps.flatMap((s) =>
          'append' in s
            ? s.append.map((m) => m.seq)
            : Array.from({ length: s.fetch.to - s.fetch.from + 1 }, (_, i) => s.fetch.from + i),
        );
        const highest = Math.max(next - 1, ...seqs);
        expect(covered).toEqual(Array.from({ length: highest - next + 1 }, (_, i) => next + i));
        expect(again.every((m) => m.seq < next)).toBe(true);
      }),
      { seed: 3 },
    );
  });
});
