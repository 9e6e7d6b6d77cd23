import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls `fn` until it no longer throws and answers something other than `false`, `null` or `undefined`, and returns that.
 * @throws the last error, once `timeoutMs` have passed.
 */
export async function eventually<T>(
  fn: () => T | Promise<T>,
  { timeoutMs = 30_000, everyMs = 20, what = 'the condition' } = {},
): Promise<NonNullable<T>> {
  const end = performance.now() + timeoutMs;
  let last: unknown;
  do {
    try {
      const answer = await fn();
      if (answer !== undefined && answer !== null && answer !== false) return answer as NonNullable<T>;
      last = undefined;
    } catch (err) {
      last = err;
    }
    await sleep(everyMs);
  } while (performance.now() < end);
  throw last ?? new Error(`${what} did not hold within ${timeoutMs} ms`);
}
