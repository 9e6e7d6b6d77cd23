import { expect, test } from '@jest/globals';
import { repeatedKey } from './repeated-key.js';

test.each([
  ['{"a":1,"a":2}', 'a'],
  ['{"a":1,"\\u0061":2}', 'a'],
  ['{"a":{"b":[0,{"c":1,"c":1}]}}', 'a.b.1.c'],
  ['{"":1,"":2}', ''],
  ['{"a\\"":1 , "a\\"" :2}', 'a"'],
  ['[{"a":1},{"a":[],"b":{},"a":1}]', '1.a'],
])('%s says %j twice', (json, path) => {
  expect(repeatedKey(json)).toBe(path);
});

test.each([
  '{"a":1,"b":2}',
  '{"a":{"a":{"a":"a"}},"b":["a","a",{"a":1},{"a":1}]}',
  '{"a":"\\"a\\":1,\\"a\\":2","b":"{","c":"a:a,"}',
  '"a"',
  'null',
])('%s says nothing twice', (json) => {
  expect(repeatedKey(json)).toBeUndefined();
});

test('a megabyte of anything is soon done', () => {
  const long = [
    `{"a":"${'\\n'.repeat(500_000)}"}`,
    `{"a":"${'x'.repeat(1_000_000)}"}`,
    `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
    `[${'{"a":1},'.repeat(100_000)}0]`,
  ];
  for (const json of long) expect(repeatedKey(json)).toBeUndefined();
});
