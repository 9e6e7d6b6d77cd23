interface Oddity {
  what: string;
  count: number;
}

const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
/** The last two are symbols by their class and leave nothing to see. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\u2800\u{1d159}]/u;
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;
const WORD = /[\p{L}\p{M}\p{N}.@_-]+/gu;
const LATIN = /\p{Script=Latin}/u;
const ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;

/** What can deceive the eye in a text: counted, by kind and character. Line breaks and tabs are no oddities. */
export function oddities(texts: Iterable<string>): Oddity[] {
  const counts = new Map<string, number>();
  const add = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  for (const text of texts) {
    for (const ch of text) {
      if (ch === '\n' || ch === '\r' || ch === '\t') continue;
      const code = `U+${(ch.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`;
      if (BIDI.test(ch)) add(`${code}, which changes the order in which text reads`);
      else if (INVISIBLE.test(ch)) add(`${code}, which cannot be seen`);
      else if (UNPRINTABLE.test(ch)) add(`${code}, which is not a printable character`);
      else if (ch !== ' ' && /\p{Zs}/u.test(ch)) add(`${code}, which looks like a space and is another character`);
    }
    for (const [word] of text.matchAll(WORD))
      if (LATIN.test(word) && ALIKE.test(word)) add('a word that mixes letters of scripts that look alike');
  }
  return [...counts].map(([what, count]) => ({ what, count }));
}

/** The same of a call's frozen arguments, as their values read. */
export function odditiesOf(args: string): Oddity[] {
  const fields = fieldsOf(args);
  return oddities(fields ? fields.flatMap((f) => [f.path, f.value]) : [args]);
}

export interface Field {
  path: string;
  value: string;
}

/** A number as it was written: reading it as one would round it. */
class Written {
  constructor(readonly source: string) {}
}

/**
 * The values of a JSON text one by one, strings decoded, for reading alone: what counts, and what runs, is the text itself.
 * Undefined when it is not JSON.
 */
export function fieldsOf(text: string): Field[] | undefined {
  let value: unknown;
  try {
    const asWritten = (_key: string, v: unknown, context?: { source?: string }) =>
      typeof v === 'number' ? new Written(context?.source ?? String(v)) : v;
    value = JSON.parse(text, asWritten as Parameters<typeof JSON.parse>[1]);
  } catch {
    return undefined;
  }
  return [...walk('', value)];
}

function* walk(path: string, value: unknown): Generator<Field> {
  if (typeof value === 'string') yield { path, value };
  else if (value instanceof Written) yield { path, value: value.source };
  else if (Array.isArray(value) && value.length > 0)
    for (const [i, v] of value.entries()) yield* walk(`${path}[${i}]`, v);
  else if (typeof value === 'object' && value !== null && Object.keys(value).length > 0)
    for (const [k, v] of Object.entries(value)) yield* walk(member(path, k), v);
  else yield { path, value: JSON.stringify(value) };
}

/** A key that is no plain word stands in quotation marks, so that it cannot pass for a field and its value. */
function member(path: string, key: string): string {
  if (!/^[\w-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}
