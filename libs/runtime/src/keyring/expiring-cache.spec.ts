import { expect, test } from '@jest/globals';
import { ExpiringCache } from './expiring-cache.js';

test('the oldest goes when it is full', () => {
  const cache = new ExpiringCache<number>(60_000, 2);
  cache.set('a', 1);
  cache.set('b', 2);
  cache.set('a', 3);
  cache.set('c', 4);
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([3, undefined, 4]);
});

test('an entry ends, and reading it does not prolong it', () => {
  const cache = new ExpiringCache<number>(0, 2);
  cache.set('a', 1);
  expect(cache.get('a')).toBeUndefined();
});
