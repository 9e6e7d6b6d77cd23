import { expect, test } from '@jest/globals';
import { actionName, readAction, writeAction } from './space-policy.js';

test.each([
  [{ server: 'builtin', tool: 'FileRW', action: 'purge_folder' }, 'FileRW.purge_folder'],
  [{ server: 'builtin', tool: 'Clock', action: null }, 'Clock'],
  [{ server: 'git', tool: 'repo.drop', action: null }, 'git/repo%2Edrop'],
  [{ server: 'git', tool: 'repo', action: 'drop' }, 'git/repo.drop'],
  [{ server: 'a/b', tool: 'c', action: null }, 'a%2Fb/c'],
  [{ server: 'x', tool: 'Löschen (alles)*', action: null }, 'x/L%C3%B6schen%20%28alles%29%2A'],
])('%j is written %s, and is read back', (triple, text) => {
  expect(writeAction(triple)).toBe(text);
  expect(readAction(text)).toEqual(triple);
});

test.each([
  '',
  '.',
  'a.',
  '.b',
  'a.b.c',
  '/a',
  'a/',
  'a/b/c',
  'a b',
  'a*',
  'a\n',
  'ä',
  '%41',
  '%2e',
  '%',
  '%FF',
  'builtin/a',
  '%62uiltin/a',
  'a'.repeat(301),
])('%j is nobody’s name', (text) => {
  expect(readAction(text)).toBeNull();
  expect(actionName.safeParse(text).success).toBe(false);
});

test('what cannot be written cannot be named', () => {
  for (const tool of ['', '\ud800', 'ä'.repeat(60)])
    expect(writeAction({ server: 'x', tool, action: null })).toBeNull();
});

test('no two triples have one text', () => {
  const parts = ['a', 'a.b', 'b', 'a/b', '%2F', 'builtin', '.', '/', 'a%2Eb'];
  const texts = parts.flatMap((server) =>
    parts.flatMap((tool) => [null, ...parts].map((action) => writeAction({ server, tool, action }))),
  );
  expect(new Set(texts).size).toBe(texts.length);
});
