import { describe, expect, it } from '@jest/globals';
import { printable } from './printable.js';

describe('printable', () => {
  it.each([
    ['plain words, ümlauts, 漢字 and 🍸', 'plain words, ümlauts, 漢字 and 🍸'],
    ['\u001b[2J', '\\u{1b}[2J'],
    ['a\u202eb', 'a\\u{202e}b'],
    ['zero\u200bwidth', 'zero\\u{200b}width'],
    ['tag\u{e0041}', 'tag\\u{e0041}'],
    ['no\u00a0break', 'no\\u{a0}break'],
    ['line\u2028end', 'line\\u{2028}end'],
    ['\ud800', '\\u{d800}'],
    ['hangul\u3164filler', 'hangul\\u{3164}filler'],
    ['braille\u2800blank', 'braille\\u{2800}blank'],
    ['back\\slash', 'back\\\\slash'],
    ['a\nb', 'a\\u{a}b'],
  ])('openclaw#43687: writes %j as %s', (text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  it('keeps line ends where they are asked for', () => {
    expect(printable('a\nb\r\n', { newlines: true })).toBe('a\nb\\u{d}\n');
  });

  it('leaves JSON as it was written, and what hides in it stands out', () => {
    expect(printable('{"a":"x\\n\\u200b\u200b"}', { json: true })).toBe('{"a":"x\\n\\u200b\\u{200b}"}');
  });

  it('keeps an accented letter and breaks up a pile of marks', () => {
    expect(printable('e\u0301')).toBe('e\u0301');
    expect(printable(`z${'\u0335'.repeat(6)}`)).toBe(`z${'\u0335'.repeat(4)}\\u{335}\\u{335}`);
  });
});
