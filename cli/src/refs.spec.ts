import { describe, expect, it } from '@jest/globals';
import { parseId, parseRef } from './refs.js';

describe('the name of a held call', () => {
  it('is a number in a space, or an id', () => {
    expect(parseRef('acme#42')).toEqual({ space: 'acme', number: 42 });
    expect(parseRef('my-space_2#1')).toEqual({ space: 'my-space_2', number: 1 });
    expect(parseRef('01jabcdefghijklmnopqrstuvw')).toEqual({ id: '01jabcdefghijklmnopqrstuvw' });
  });

  it.each([
    '',
    '#',
    '#42',
    'acme#',
    'acme#0',
    'acme#042',
    'acme#-1',
    'acme#4.2',
    'acme#1e3',
    'acme# 1',
    'acme#12345678901',
    'Acme#1',
    'acme#1#2',
    'acme/x#1',
    '../runs',
    'a b',
    'acme#1\n',
    'acme#٤٢',
    'a'.repeat(65),
  ])('is not %j', (text) => {
    expect(() => parseRef(text)).toThrow(expect.objectContaining({ exitCode: 2 }));
  });
});

it('an id has no way out of its place in a path', () => {
  expect(parseId('01j')).toBe('01j');
  for (const text of ['..', 'a/b', 'a?b', 'A', '']) expect(() => parseId(text)).toThrow();
});
