import { decodeHTML } from 'entities';
import { BREAKS, closedUp } from './closed-up.js';

/** A text, and for each of its units where in the source it was written: from there, to before there. */
export interface Layer {
  text: string;
  from: Uint32Array;
  to: Uint32Array;
}

export interface Decoding {
  /** Each match stands for other characters, never for half of one; every other unit for itself. */
  pattern: RegExp;
  one: (written: string) => string;
}

const CONTROLS: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', '0': '\0' };

/** Escapes of JSON, and those of JavaScript, C and shells that look like them. */
const backslash: Decoding = {
  pattern: /\\(?:u\{[\da-f]{1,6}\}|u[\da-f]{4}|x[\da-f]{2}|[\s\S])/giu,
  one: (written) => {
    const code = /^\\[ux]\{?([\da-f]+)\}?$/i.exec(written)?.[1];
    if (code !== undefined) return character(Number.parseInt(code, 16));
    const ch = written.slice(1);
    return CONTROLS[ch] ?? ch;
  },
};

/** One character of UTF-8 a match (RFC 3986). */
const percent: Decoding = {
  pattern: /%(?:[0-7][\da-f]|[cd][\da-f]%[89ab][\da-f]|e[\da-f](?:%[89ab][\da-f]){2}|f[0-7](?:%[89ab][\da-f]){3})/gi,
  one: (written) => {
    try {
      return decodeURIComponent(written);
    } catch {
      return written;
    }
  },
};

const entity: Decoding = { pattern: /&(?:#x[\da-f]{1,8}|#\d{1,8}|[a-z][\da-z]{1,31});?/gi, one: decodeHTML };

export const DECODINGS: readonly [Decoding, ...Decoding[]] = [backslash, percent, entity];

/** Not a decoding of its own: what breaks a text up is taken out. */
export const CLOSING_UP: Decoding = { pattern: BREAKS, one: () => '' };

const character = (code: number): string => (code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd');

export const decoded = (text: string, d: Decoding): string =>
  d === CLOSING_UP ? closedUp(text) : text.replace(d.pattern, d.one);

/** As `decoded`, keeping where everything was written. */
export function decodedLayer(layer: Layer, { pattern, one }: Decoding): Layer {
  const { text } = layer;
  const units: string[] = [];
  const from: number[] = [];
  const to: number[] = [];
  let at = 0;
  const copy = (end: number) => {
    units.push(text.slice(at, end));
    for (; at < end; at++) {
      from.push(layer.from[at] as number);
      to.push(layer.to[at] as number);
    }
  };
  for (const match of text.matchAll(pattern)) {
    copy(match.index);
    const stands = one(match[0]);
    const last = at + match[0].length - 1;
    units.push(stands);
    for (let i = 0; i < stands.length; i++) {
      from.push(layer.from[at] as number);
      to.push(layer.to[last] as number);
    }
    at = last + 1;
  }
  copy(text.length);
  return { text: units.join(''), from: Uint32Array.from(from), to: Uint32Array.from(to) };
}

export const source = (text: string): Layer => ({
  text,
  from: Uint32Array.from({ length: text.length }, (_, i) => i),
  to: Uint32Array.from({ length: text.length }, (_, i) => i + 1),
});
