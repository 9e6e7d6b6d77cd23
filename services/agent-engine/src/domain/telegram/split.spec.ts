import { expect, test } from '@jest/globals';
import { split } from './split.js';

test.each([
  ['', []],
  [' \n ', []],
  ['short', ['short']],
  ['ten chars.', ['ten chars.']],
  ['one two three four', ['one two', 'three four']],
  ['first line\nnext', ['first line', 'next']],
  ['aaaaaaaaaaaaaaa', ['aaaaaaaaaa', 'aaaaa']],
  [`aaaaaaaaa\u{1f378}b`, ['aaaaaaaaa', '\u{1f378}b']],
])('%j', (text, parts) => {
  expect(split(text, 10, 5, '…')).toEqual(parts);
});

test('what is beyond the last part is left out, and that is said', () => {
  const parts = split('a'.repeat(100), 10, 3, '(more)');
  expect(parts).toEqual(['a'.repeat(10), 'a'.repeat(10), 'aaa\n(more)']);
});
