import { describe, expect, it } from '@jest/globals';
import { backoffMs, conclude } from './conclude.js';

const at = (executionClass: Parameters<typeof conclude>[1]['executionClass'], attempt: number) => ({
  executionClass,
  attempt,
  attempts: 3,
});

describe('what an answer means for the call', () => {
  it.each([
    ['done', at('at-most-once', 1), 'ruled-out', 'close'],
    ['done', at('keyed', 2), 'open', 'close'],
    ['did-not-happen', at('at-most-once', 1), 'ruled-out', 'close'],
    ['did-not-happen', at('keyed', 1), 'ruled-out', 'close'],
    // the first attempt may have happened all the same
    ['did-not-happen', at('keyed', 2), 'open', 'again'],
    ['did-not-happen', at('idempotent', 3), 'open', 'doubt'],
    ['did-not-happen', at('reconcilable', 2), 'ruled-out', 'close'],
    ['not-begun', at('keyed', 1), 'ruled-out', 'again'],
    ['not-begun', at('keyed', 3), 'ruled-out', 'close'],
    ['not-begun', at('keyed', 3), 'open', 'doubt'],
    ['not-begun', at('at-most-once', 1), 'ruled-out', 'close'],
    ['unknown', at('at-most-once', 1), 'ruled-out', 'doubt'],
    ['unknown', at('idempotent', 1), 'ruled-out', 'again'],
    ['unknown', at('keyed', 2), 'open', 'again'],
    ['unknown', at('keyed', 3), 'open', 'doubt'],
    ['unknown', at('reconcilable', 1), 'ruled-out', 'again'],
    ['unknown', at('reconcilable', 2), 'unknowable', 'doubt'],
  ] as const)('%s of %j, the earlier ones %s: %s', (answer, a, earlier, then) => {
    expect(conclude(answer, { ...a, earlier })).toBe(then);
  });

  it('waits longer each time, a minute at most', () => {
    expect([1, 2, 3, 9].map((attempt) => backoffMs(1_000, attempt))).toEqual([1_000, 3_000, 9_000, 60_000]);
  });
});
