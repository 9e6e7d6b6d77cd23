import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { exhausted } from './rate-limit.js';
import { RATE_LIMIT } from './rules.js';

const at = (ms: number) => new Date(1_900_000_000_000 + ms);
const MINUTE = 60_000;

test('the 31st call within a minute is one too many; what is a minute away does not count', () => {
  const thirty = Array.from({ length: 30 }, (_, i) => at(i));
  expect(exhausted(thirty.slice(1), at(1_000), RATE_LIMIT)).toBe(false);
  expect(exhausted(thirty, at(1_000), RATE_LIMIT)).toBe(true);
  expect(exhausted(thirty, at(MINUTE), RATE_LIMIT)).toBe(false);
});

test('in whatever order calls are judged, no minute ever holds more than thirty that passed', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3 * MINUTE), { minLength: 60, maxLength: 150 }), (times) => {
      const passed: Date[] = [];
      for (const ms of times) if (!exhausted(passed, at(ms), RATE_LIMIT)) passed.push(at(ms));
      for (const first of passed) {
        const within = passed.filter((p) => p >= first && p.getTime() < first.getTime() + MINUTE);
        expect(within.length).toBeLessThanOrEqual(RATE_LIMIT.calls);
      }
    }),
    { numRuns: 100, seed: 20_300_102 },
  );
});
