import { expect, it } from '@jest/globals';
import { inLanes } from './in-lanes.js';

it('never has more under way than there are lanes, and answers in the order of the items', async () => {
  let now = 0;
  let most = 0;
  const gates = Array.from({ length: 25 }, () => Promise.withResolvers<void>());
  const done = inLanes(10, gates, async ({ promise }, i) => {
    most = Math.max(most, ++now);
    await promise;
    now--;
    return i;
  });
  for (const g of gates.toReversed()) g.resolve();
  expect(await done).toEqual(gates.map((_, i) => i));
  expect(most).toBe(10);
});

it('begins nothing more after an error, and throws it once nothing is under way', async () => {
  const begun: number[] = [];
  const other = Promise.withResolvers<void>();
  let otherEnded = false;
  const done = inLanes(2, [0, 1, 2, 3], async (i) => {
    begun.push(i);
    if (i === 0) throw new Error('broken');
    await other.promise;
    otherEnded = true;
  });
  other.resolve();
  await expect(done).rejects.toThrow('broken');
  expect(otherEnded).toBe(true);
  expect(begun).toEqual([0, 1]);
});
