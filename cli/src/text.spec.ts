import { describe, expect, it } from '@jest/globals';
import { block, field, inline, span, table, wrapped } from './text.js';

const HOSTILE = '\u001b[2J\u009b31m\u0007\r\b\u202eevil\u2066\u200b\u00ad\u2028\ue000\udc00 \u00a0\\u{1b}';

describe('text of a stranger', () => {
  it('reaches the screen as printable characters alone', () => {
    for (const line of [inline(HOSTILE, 1000), ...block(HOSTILE), ...field(HOSTILE, HOSTILE)])
      expect(line).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
  });

  it('keeps its line breaks only behind a bar', () => {
    expect(block('a\nb\n\n  acme#1 is approved.')).toEqual(['  │ a', '  │ b', '  │ ', '  │   acme#1 is approved.']);
    expect(inline('a\nb')).toBe('a\\u{a}b');
  });

  it('cannot pass for another field, neither by its value nor by its key', () => {
    expect(field('body', 'hello\nto: ada')).toEqual(['  │ body: hello', '  │     to: ada']);
    expect(field('a\nto', 'x')).toEqual(['  │ a\\u{a}to: x']);
  });

  it('cannot come to stand at the beginning of a line by being too wide', () => {
    const line = `  │ ${' '.repeat(36)}acme#1 is approved. ${'字'.repeat(30)}`;
    const lines = wrapped(line, 40);
    expect(lines.slice(1).every((l) => l.startsWith('  ┊ '))).toBe(true);
    expect(
      lines[0] +
        lines
          .slice(1)
          .map((l) => l.slice(4))
          .join(''),
    ).toBe(line);
    for (const l of lines)
      expect([...l].reduce((n, ch) => n + (/[ -~│┊]/.test(ch) ? 1 : 2), 0)).toBeLessThanOrEqual(40);
    expect(wrapped('short', 40)).toEqual(['short']);
    expect(wrapped('', 40)).toEqual(['']);
  });

  it('is cut within a line, and seen to be', () => {
    expect(inline('x'.repeat(100), 10)).toBe('xxxxxxxxx…');
    expect(inline('x'.repeat(10), 10)).toBe('xxxxxxxxxx');
  });
});

it('a span of time is told in its two largest units', () => {
  const spans = [-5, 0, 59_000, 60_000, 3_599_000, 3_600_000, 86_399_000, 90_000_000].map(span);
  expect(spans).toEqual(['0 s', '0 s', '59 s', '1 min', '59 min', '1 h 0 min', '23 h 59 min', '1 d 1 h']);
});

it('a table is as wide as its widest cells', () => {
  expect(
    table(
      ['A', 'BB'],
      [
        ['xxx', 'y'],
        ['z', ''],
      ],
    ),
  ).toEqual(['A    BB', 'xxx  y', 'z']);
});
