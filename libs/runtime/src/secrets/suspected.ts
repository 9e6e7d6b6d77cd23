import { MASK } from './known-secrets.js';
import { ASSIGNMENT, PATTERNS } from './patterns.js';
import { sensitiveKey } from './sensitive-keys.js';

interface Span {
  from: number;
  to: number;
  mask: string;
}

/** In place of a number, so that JSON stays JSON. */
const QUOTED = JSON.stringify(MASK);
/** What stands for a secret already, or for none. */
const BLANK = /^(?:\[secret\]|\{\{secret:[A-Z][A-Z0-9_]{0,63}\}\}|true|false|null|none|undefined|\*+|x+|\.+|-+)$/i;

/**
 * The text with a mask in place of all that looks like a secret: values under names such as `password`, at any depth of JSON
 * and also where the JSON is cut off; and what carries the mark of its kind. JSON stays JSON. For eyes only: it errs on
 * the side of masking, so nothing may be decided or carried out from it.
 */
export function maskSuspected(text: string): string {
  const spans = suspectedSpans(text).sort((a, b) => a.from - b.from);
  let out = '';
  let at = 0;
  for (const { from, to, mask } of spans) {
    if (from >= at) out += text.slice(at, from) + mask;
    at = Math.max(at, to);
  }
  return out + text.slice(at);
}

/** Whether there is anything that `maskSuspected` would mask. */
export const looksSecret = (text: string): boolean => suspectedSpans(text).length > 0;

function suspectedSpans(text: string): Span[] {
  const spans = namedValues(text);
  for (const pattern of PATTERNS) for (const m of text.matchAll(pattern)) spans.push(...secretOf(m));
  for (const m of text.matchAll(ASSIGNMENT)) if (sensitiveKey(m.groups?.['key'] ?? '')) spans.push(...secretOf(m));
  return spans;
}

/** The group `secret` of a match, or all of it. */
function secretOf(match: RegExpExecArray): Span[] {
  const [from, to] = match.indices?.groups?.['secret'] ?? match.indices?.[0] ?? [0, 0];
  return BLANK.test(match.input.slice(from, to)) ? [] : [{ from, to, mask: MASK }];
}

const KEY = /"((?:[^"\\]|\\.){1,200})"\s{0,20}:\s{0,20}/gs;
const STRING = /"((?:[^"\\]+|\\.)*)("|$)/sy;
const BARE = /-?\d{4,}(?:\.\d+)?(?=[\s,}\]]|$)/y;

/** Values of JSON, whole or cut off, whose name says that they are secrets. One pass: a name is looked at where it stands. */
function namedValues(text: string): Span[] {
  const spans: Span[] = [];
  let covered = 0;
  for (const m of text.matchAll(KEY)) {
    const at = m.index + m[0].length;
    if (at <= covered || !sensitiveKey(unescaped(m[1] as string))) continue;
    const opens = text.charAt(at);
    if (opens === '{' || opens === '[') covered = within(text, at, spans);
    else spans.push(...scalarAt(text, at));
  }
  return spans;
}

/** Adds all strings and long numbers inside the container that opens at `at`, but for its names. @returns its end */
function within(text: string, at: number, spans: Span[]): number {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const ch = text.charAt(i);
    if (ch === '{' || ch === '[') depth++;
    else if (ch === '}' || ch === ']') {
      if (--depth === 0) return i;
    } else if (ch === '"') {
      STRING.lastIndex = i;
      const end = i + (STRING.exec(text)?.[0].length ?? 1);
      if (!/^\s{0,20}:/.test(text.slice(end, end + 21))) spans.push(...scalarAt(text, i));
      i = end - 1;
    } else if (/\d/.test(ch) && !/[\d.]/.test(text.charAt(i - 1))) spans.push(...scalarAt(text, i));
  }
  return text.length;
}

function scalarAt(text: string, at: number): Span[] {
  STRING.lastIndex = at;
  const string = STRING.exec(text);
  if (string) {
    const content = string[1] as string;
    return content === '' || BLANK.test(content) ? [] : [{ from: at + 1, to: at + 1 + content.length, mask: MASK }];
  }
  BARE.lastIndex = at;
  const bare = BARE.exec(text);
  return bare ? [{ from: at, to: at + bare[0].length, mask: QUOTED }] : [];
}

function unescaped(key: string): string {
  try {
    return JSON.parse(`"${key}"`) as string;
  } catch {
    return key;
  }
}
