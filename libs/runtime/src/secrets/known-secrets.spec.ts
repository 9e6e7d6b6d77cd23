import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { KnownSecrets } from './known-secrets.js';

const VALUES = {
  PLAIN: 'hunter2-and-more',
  QUOTES: 'a"b\\c\'d<e>&f%41+g h/',
  LINES: 'first line\nsecond\tline\r\nthird',
  GREEK: 'Σύνθημα-ασφαλείας',
  EMOJI: '🔑🗝️pass👩‍💼word',
  CHINESE: '密码是八个字符以上',
  DIGITS: '4711081547',
  BASE: 'Zm9vYmFyYmF6/+=',
};
const known = new KnownSecrets(
  Object.entries(VALUES).map(([name, value]) => ({ name, value, label: `{{secret:${name}}}` })),
);

const json = (v: string) => JSON.stringify(v).slice(1, -1);
const units = (v: string, write: (unit: string) => string) =>
  Array.from({ length: v.length }, (_, i) => write(v.charAt(i))).join('');
const hex4 = (u: string) => u.charCodeAt(0).toString(16).padStart(4, '0');
const percentAll = (v: string) => Buffer.from(v).toString('hex').replace(/../g, '%$&');
const base64 = (v: string, before: string, encoding: 'base64' | 'base64url' = 'base64') =>
  Buffer.from(`${before}${v} and more`).toString(encoding);

const WRITTEN: [string, (v: string) => string][] = [
  ['as it is', (v) => v],
  ['in JSON', json],
  ['in JSON in JSON', (v) => json(json(v))],
  ['as escapes of JSON', (v) => units(v, (u) => `\\u${hex4(u)}`)],
  ['as upper-case escapes of JSON', (v) => units(v, (u) => `\\u${hex4(u).toUpperCase()}`)],
  ['percent-encoded', encodeURIComponent],
  ['percent-encoded throughout', percentAll],
  ['percent-encoded twice', (v) => encodeURIComponent(encodeURIComponent(v))],
  ['as a form', (v) => new URLSearchParams([['', v]]).toString().slice(1)],
  ['as decimal entities', (v) => Array.from(v, (ch) => `&#${ch.codePointAt(0)};`).join('')],
  ['as hexadecimal entities', (v) => Array.from(v, (ch) => `&#x${ch.codePointAt(0)?.toString(16)};`).join('')],
  [
    'as named entities',
    (v) => v.replace(/[&<>"]/g, (ch) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[ch] ?? ''),
  ],
  ['in a form in JSON', (v) => json(percentAll(v))],
  ['in JSON in a form', (v) => encodeURIComponent(json(v))],
  ['in hexadecimal', (v) => Buffer.from(v).toString('hex')],
  ['in upper-case hexadecimal', (v) => Buffer.from(v).toString('hex').toUpperCase()],
  ['in base64', (v) => base64(v, '')],
  ['in base64 one off', (v) => base64(v, 'x')],
  ['in base64 two off', (v) => base64(v, 'xy')],
  ['in base64url', (v) => base64(v, '', 'base64url')],
  ['in base64url one off', (v) => base64(v, 'x', 'base64url')],
  ['in base64 in a URL', (v) => encodeURIComponent(base64(v, 'user:'))],
  ['in base64 in lines', (v) => base64(v, 'x'.repeat(50)).replace(/.{20}/g, '$&\r\n')],
  ['broken up by blanks', (v) => Array.from(v).join(' ')],
  ['broken up by what is not seen', (v) => Array.from(v).join('\u200b')],
  ['in normal form D', (v) => v.normalize('NFD')],
];

describe('KnownSecrets', () => {
  it.each(WRITTEN)('finds and scrubs every value %s', (_how, write) => {
    for (const [name, value] of Object.entries(VALUES)) {
      const text = `before ${write(value)} after`;
      expect([name, ...known.find(text)]).toEqual([name, name]);
      const clean = known.scrub(text);
      expect(clean).toContain(`{{secret:${name}}}`);
      expect(known.find(clean)).toEqual([]);
      if (!/base64/.test(_how)) expect(clean).toBe(`before {{secret:${name}}} after`);
    }
  });

  it('leaves arguments JSON, whatever the values and wherever they stand', () => {
    const document = {
      [VALUES.PLAIN]: [VALUES.QUOTES, { deep: { deeper: `x${VALUES.LINES}y` } }],
      n: 9,
      s: VALUES.EMOJI,
    };
    expect(JSON.parse(known.scrub(JSON.stringify(document)))).toEqual({
      '{{secret:PLAIN}}': ['{{secret:QUOTES}}', { deep: { deeper: 'x{{secret:LINES}}y' } }],
      n: 9,
      s: '{{secret:EMOJI}}',
    });
  });

  it('leaves every other text as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => known.scrub(text) === text),
      { seed: 7, numRuns: 500 },
    );
    for (const text of [
      '',
      'hunter2',
      'and-more',
      '&amp; %41 \\u0041 \\',
      '{{secret:PLAIN}}',
      VALUES.PLAIN.toUpperCase(),
    ])
      expect(known.scrub(text)).toBe(text);
  });

  it('finds a value between any texts', () => {
    const any = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(any, any, fc.constantFrom(...Object.values(VALUES)), (before, after, value) => {
        const clean = known.scrub(JSON.stringify({ [before]: `${before}${value}${after}` }));
        return !clean.includes(value) && !clean.includes(json(value)) && known.find(clean).length === 0;
      }),
      { seed: 7, numRuns: 500 },
    );
  });

  it('scrubs a value that is cut off at the end of the text', () => {
    expect(known.scrub('The server answered: hunter2-and-')).toBe('The server answered: {{secret:PLAIN}}');
    expect(known.scrub(`${'x'.repeat(50)}${base64(VALUES.GREEK, '').slice(0, 20)}`)).toContain('{{secret:GREEK}}');
  });

  it('of values that contain one another takes the longer', () => {
    const nested = new KnownSecrets([
      { name: 'A', value: 'password', label: '[a]' },
      { name: 'B', value: 'password-of-the-vault', label: '[b]' },
    ]);
    expect(nested.scrub('password-of-the-vault password')).toBe('[b] [a]');
  });

  it('looks for 100 secrets in 256 KiB in hardly more time than for one', () => {
    const line = 'Dear customer, the invoice of 12 × 115.00 EUR is "settled" & paid; path C:\\x, 100%.\n';
    const text = JSON.stringify({ action: 'send', body: line.repeat(Math.ceil((256 * 1024) / line.length)) });
    const quickest = (count: number) => {
      const secrets = new KnownSecrets(
        Array.from({ length: count }, (_, i) => ({
          name: `S${i}`,
          value: `value-${i}-${(i * 7919).toString(36)}`,
          label: 's',
        })),
      );
      const times = Array.from({ length: 6 }, () => {
        const from = performance.now();
        expect(secrets.find(text)).toEqual([]);
        return performance.now() - from;
      });
      return Math.min(...times);
    };
    // about 30 ms either way where it was measured; a search for one spelling after another takes 100 times as long
    expect(quickest(100) / quickest(1)).toBeLessThan(10);
  });
});
