import type { RateLimit } from './rules.js';

/**
 * Whether one more call at `at` would be too many. `passed` holds the stream times of the calls of the same user and tool
 * that passed; they count on either side of `at`, so that no window of that length ever holds more than the limit,
 * in whatever order the calls are judged.
 */
export function exhausted(passed: readonly Date[], at: Date, { calls, seconds }: RateLimit): boolean {
  const near = passed.filter((other) => Math.abs(other.getTime() - at.getTime()) < seconds * 1000);
  return near.length >= calls;
}
