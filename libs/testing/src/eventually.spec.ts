import { expect, test } from '@jest/globals';
import { eventually } from './eventually.js';

test('returns the first answer that holds', async () => {
  let calls = 0;
  expect(
    await eventually(() => {
      calls += 1;
      if (calls === 1) throw new Error('not yet');
      return calls === 3 ? 'held' : undefined;
    }),
  ).toBe('held');
});

test('throws the last error, or says what did not hold', async () => {
  const failing = () => {
    throw new Error('still not');
  };
  await expect(eventually(failing, { timeoutMs: 1 })).rejects.toThrow('still not');
  await expect(eventually(() => false, { timeoutMs: 1, what: 'the row' })).rejects.toThrow(
    'the row did not hold within 1 ms',
  );
});
