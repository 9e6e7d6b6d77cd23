import { describe, expect, it } from '@jest/globals';
import { fieldsOf, oddities } from './argument-text.js';

describe('arguments field by field', () => {
  it('shows values decoded, and numbers as they were written', () => {
    const text =
      '{"to":["a@x.org","b@x.org"],"n":9007199254740993,"f":1.10e2,"o":{"deep key":true,"z":null,"e":[],"s":"l1\\nl2"}}';
    expect(fieldsOf(text)).toEqual([
      { path: 'to[0]', value: 'a@x.org' },
      { path: 'to[1]', value: 'b@x.org' },
      { path: 'n', value: '9007199254740993' },
      { path: 'f', value: '1.10e2' },
      { path: 'o["deep key"]', value: 'true' },
      { path: 'o.z', value: 'null' },
      { path: 'o.e', value: '[]' },
      { path: 'o.s', value: 'l1\nl2' },
    ]);
  });

  it('quotes a key that would pass for a field and its value', () => {
    expect(fieldsOf('{"to: ada@x.org":1}')).toEqual([{ path: '["to: ada@x.org"]', value: '1' }]);
  });

  it('keeps keys that mean something to JavaScript', () => {
    expect(fieldsOf('{"__proto__":{"x":1},"constructor":2}')).toEqual([
      { path: '__proto__.x', value: '1' },
      { path: 'constructor', value: '2' },
    ]);
  });

  it('is silent about what is not JSON', () => {
    expect(fieldsOf('{"a":')).toBeUndefined();
    expect(fieldsOf('"x"')).toEqual([{ path: '', value: 'x' }]);
    expect(fieldsOf('{}')).toEqual([{ path: '', value: '{}' }]);
  });
});

describe('openclaw#43687: what can deceive the eye', () => {
  const found = (text: string) => oddities([text]).map((o) => `${o.count} ${o.what.split(',')[0]}`);

  it.each([
    ['gnp.exe\u202e', '1 U+202E'],
    ['\u2066a\u2069', '1 U+2066|1 U+2069'],
    ['pay\u200bpal\u200b', '2 U+200B'],
    ['\u00ad', '1 U+00AD'],
    ['\u{e0041}', '1 U+E0041'],
    ['\ufe0f', '1 U+FE0F'],
    ['\u0007', '1 U+0007'],
    ['\ue000', '1 U+E000'],
    ['\u3164\uffa0', '1 U+3164|1 U+FFA0'],
    ['\u2800\u{1d159}', '1 U+2800|1 U+1D159'],
    ['a\u00a0b', '1 U+00A0'],
    ['pаypal@x.org', '1 a word that mixes letters of scripts that look alike'],
  ])('%j is found', (text, what) => {
    expect(found(text).join('|')).toBe(what);
  });

  it.each(['plain text, 100 %\n\ttabbed\r\n', 'Grüße aus Köln, наш адрес', 'e\u0301t\u00e9', '日本語 🙂'])(
    '%j is fine',
    (text) => {
      expect(found(text)).toEqual([]);
    },
  );
});
