import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseArguments } from './parse.js';
import { scanArguments } from './scan.js';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_260_214);
const run = { seed, numRuns: 4_000, verbose: 0 } as const;

const key = fc.constantFrom(
  'a',
  'b',
  'action',
  '',
  '__proto__',
  'constructor',
  'ä',
  '\u{1f378}',
  '\\u0061',
  '\\u005f_proto__',
);
const scalar = fc.constantFrom(
  '0',
  '-0',
  '1',
  '01',
  '9007199254740993',
  '-12345678901234567890',
  '1.5',
  '1e400',
  '1e-400',
  '1E+2',
  '-',
  '.5',
  'NaN',
  'true',
  'false',
  'null',
  'nul',
  '"x"',
  '"\\n"',
  '"\n"',
  '"\\u0000"',
  '"\\ud83c\\udf78"',
  '"\\ud83c"',
  '"\ud83c"',
  '"\\q"',
  "'x'",
  '"',
);
/** Objects as text, so that duplicate keys, odd spellings and broken tokens are all within reach. */
const { document } = fc.letrec<{ document: string; value: string }>((tie) => ({
  document: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 4 })
    .map((fields) => `{${fields.map(([k, v]) => `"${k}":${v}`).join()}}`),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    tie('document'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
  ),
}));
const soup = fc
  .array(
    fc.oneof(scalar, fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', ' ', '\n', '\t', '\0', '\ufeff', '//', '/*')),
    { maxLength: 12 },
  )
  .map((tokens) => `{${tokens.join('')}`);
/** A valid document with one character taken out, put in or exchanged. */
const mutated = fc
  .tuple(fc.json({ maxDepth: 3 }), fc.nat(), fc.nat(2), fc.constantFrom(...'{}[],:"\\u0\n\0 -.e1a\ud83c\ufeff'))
  .map(([json, where, cut, put]) => {
    const text = `{"a":${json},"b":[${json}]}`;
    const at = where % text.length;
    return text.slice(0, at) + (cut === 0 ? '' : put) + text.slice(cut === 1 ? at : at + 1);
  });
const texts = fc.oneof(
  document,
  soup,
  mutated,
  fc.json().map((j) => `{"a":${j}}`),
  fc.string({ unit: 'binary' }),
);

describe(`scanArguments against JSON.parse (seed ${seed})`, () => {
  it('accepts nothing that the kept parser refuses, or reads as anything but one object', () => {
    let accepted = 0;
    fc.assert(
      fc.property(texts, (text) => {
        if (!scanArguments(text).ok) return;
        accepted++;
        const value: unknown = JSON.parse(text);
        expect(value !== null && typeof value === 'object' && !Array.isArray(value)).toBe(true);
        // as many keys in the value as in the text: none was given twice
        expect(keysIn(value)).toBe(keysWritten(text));
        expect(JSON.parse(Buffer.from(text, 'utf8').toString('utf8'))).toEqual(value);
      }),
      run,
    );
    expect(accepted).toBeGreaterThan(run.numRuns / 20);
  });

  it('calls broken only what the kept parser calls broken', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const scan = scanArguments(text);
        const broken = ['arguments.not-json', 'arguments.control-character', 'arguments.empty'];
        if (scan.ok || !broken.includes(scan.code)) return;
        expect(() => JSON.parse(text)).toThrow();
      }),
      run,
    );
  });

  it('parses what it accepts to the same values, digit for digit', () => {
    fc.assert(
      fc.property(texts, (text) => {
        if (!scanArguments(text).ok) return;
        const rounded = JSON.stringify(parseArguments(text), (_k, v) => (typeof v === 'bigint' ? Number(v) : v));
        expect(rounded).toBe(JSON.stringify(JSON.parse(text)));
      }),
      run,
    );
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }), (n) => {
        expect(BigInt((parseArguments(`{"n":[${n}]}`) as { n: [number | bigint] }).n[0])).toBe(n);
      }),
      run,
    );
  });
});

const keysIn = (value: unknown): number =>
  value !== null && typeof value === 'object'
    ? Object.values(value).reduce((n: number, v) => n + keysIn(v), Array.isArray(value) ? 0 : Object.keys(value).length)
    : 0;
const keysWritten = (json: string): number =>
  (json.match(/"(?:[^"\\]|\\.)*"\s*:?/gs) ?? []).filter((token) => token.endsWith(':')).length;
