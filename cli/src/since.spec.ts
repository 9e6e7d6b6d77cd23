import { expect, test } from '@jest/globals';
import { sinceOf } from './since.js';

const now = Date.parse('2026-06-08T09:00:00.000Z');

test('since is a time of the past, or how long ago', () => {
  expect(sinceOf('7d', now)).toBe('2026-06-01T09:00:00.000Z');
  expect(sinceOf('90m', now)).toBe('2026-06-08T07:30:00.000Z');
  expect(sinceOf('2026-01-31T09:00:00Z', now)).toBe('2026-01-31T09:00:00Z');
  expect(() => sinceOf('2030-01-01T00:00:00Z', now)).toThrow('in the future');
  for (const wrong of ['yesterday', '7', '7w', '']) expect(() => sinceOf(wrong, now)).toThrow('such as');
});
