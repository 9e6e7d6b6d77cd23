import { FROZEN_NONCE_BYTES, MAX_CONTENT_BYTES } from '@holdpoint/contracts';
import { type ArgumentsCode, sentenceFor } from './refusal.js';

export interface ScanLimits {
  /** Size of the text in bytes of UTF-8. */
  maxBytes: number;
  /** Levels of nesting; the outermost object is the first. */
  maxDepth: number;
}
/** What a box holds beside the nonce of the frozen call (charter, sections 3 and 5). */
export const scanLimits: ScanLimits = { maxBytes: MAX_CONTENT_BYTES - FROZEN_NONCE_BYTES, maxDepth: 64 };

/** `at` is the index, in UTF-16 units, of what was refused. */
export type Scan = { ok: true } | { ok: false; code: ArgumentsCode; at: number; message: string };

/**
 * Checks that `text` is one JSON object that every parser reads alike, and changes nothing: RFC 8259 to the letter, and
 * none of what parsers disagree about (charter, section 5). Linear in time, and nesting costs no stack.
 */
export function scanArguments(text: string, limits: ScanLimits = scanLimits): Scan {
  try {
    if (text.length > limits.maxBytes || new TextEncoder().encode(text).length > limits.maxBytes)
      throw new Fault('arguments.too-large', 0);
    new Scanner(text, limits.maxDepth).run();
    return { ok: true };
  } catch (e) {
    if (!(e instanceof Fault)) throw e;
    return { ok: false, code: e.code, at: e.at, message: sentenceFor(e.code) };
  }
}

class Fault extends Error {
  constructor(
    readonly code: ArgumentsCode,
    readonly at: number,
  ) {
    super(code);
  }
}

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const word = /true|false|null/y;
const hex4 = /[0-9a-fA-F]{4}/y;
const simpleEscapes: Record<string, string> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class Scanner {
  private at = 0;
  /** One entry a level: the keys seen so far of an object, null for an array. */
  private readonly open: (Set<string> | null)[] = [];

  constructor(
    private readonly text: string,
    private readonly maxDepth: number,
  ) {}

  run(): void {
    this.space();
    if (this.at === this.text.length) throw new Fault('arguments.empty', 0);
    const start = this.at;
    do this.value();
    while (this.closeAndGoOn());
    this.space();
    if (this.at < this.text.length) throw this.unexpected();
    if (this.text[start] !== '{') throw new Fault('arguments.not-object', start);
  }

  /** A scalar, an empty container, or everything up to the first value inside one. */
  private value(): void {
    for (;;) {
      this.space();
      const c = this.text[this.at];
      if (c === '{' || c === '[') {
        if (this.open.length === this.maxDepth) throw new Fault('arguments.too-deep', this.at);
        this.open.push(c === '{' ? new Set() : null);
        this.at++;
        this.space();
        if (this.text[this.at] === (c === '{' ? '}' : ']')) return;
        if (c === '{') this.key();
      } else if (c === '"') {
        this.string();
        return;
      } else if (c === '-' || (c !== undefined && c >= '0' && c <= '9')) {
        const start = this.at;
        if (!Number.isFinite(Number(this.take(number)))) throw new Fault('arguments.number-overflow', start);
        return;
      } else {
        this.take(word);
        return;
      }
    }
  }

  /** After a value: closes what ends here. True if another value follows, false once the outermost one is complete. */
  private closeAndGoOn(): boolean {
    while (this.open.length > 0) {
      const keys = this.open.at(-1);
      this.space();
      const c = this.text[this.at];
      if (c === (keys ? '}' : ']')) {
        this.at++;
        this.open.pop();
      } else if (c === ',') {
        this.at++;
        this.space();
        if (keys) this.key();
        return true;
      } else throw this.unexpected();
    }
    return false;
  }

  private key(): void {
    const start = this.at;
    if (this.text[start] !== '"') throw this.unexpected();
    const key = this.string();
    const keys = this.open.at(-1);
    if (key === '__proto__') throw new Fault('arguments.proto-key', start);
    if (keys?.has(key)) throw new Fault('arguments.duplicate-key', start);
    keys?.add(key);
    this.space();
    if (this.text[this.at] !== ':') throw this.unexpected();
    this.at++;
  }

  /** Steps over a string and gives its value: keys are compared as they read, not as they are spelled. */
  private string(): string {
    let value = '';
    let plainFrom = ++this.at;
    for (;;) {
      const start = this.at;
      const c = this.text.charCodeAt(start);
      if (Number.isNaN(c)) throw new Fault('arguments.not-json', start);
      if (c === 0x22) {
        this.at++;
        return value + this.text.slice(plainFrom, start);
      }
      if (c === 0x5c) {
        value += this.text.slice(plainFrom, start) + this.escape();
        plainFrom = this.at;
      } else if (c === 0) throw new Fault('arguments.nul', start);
      else if (c < 0x20) throw new Fault('arguments.control-character', start);
      else if (isHigh(c) && isLow(this.text.charCodeAt(start + 1))) this.at += 2;
      else if (isHigh(c) || isLow(c)) throw new Fault('arguments.lone-surrogate', start);
      else this.at++;
    }
  }

  private escape(): string {
    const start = this.at;
    const c = this.text[start + 1] ?? '';
    if (c !== 'u') {
      const simple = Object.hasOwn(simpleEscapes, c) ? simpleEscapes[c] : undefined;
      if (simple === undefined) throw new Fault('arguments.not-json', start);
      this.at += 2;
      return simple;
    }
    const unit = this.unit();
    if (unit === 0) throw new Fault('arguments.nul', start);
    if (isLow(unit)) throw new Fault('arguments.lone-surrogate', start);
    if (!isHigh(unit)) return String.fromCharCode(unit);
    if (!this.text.startsWith('\\u', this.at)) throw new Fault('arguments.lone-surrogate', start);
    const low = this.unit();
    if (!isLow(low)) throw new Fault('arguments.lone-surrogate', start);
    return String.fromCharCode(unit, low);
  }

  private unit(): number {
    this.at += 2;
    return Number.parseInt(this.take(hex4), 16);
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw this.unexpected();
    this.at += found.length;
    return found;
  }

  private space(): void {
    for (;;) {
      const c = this.text.charCodeAt(this.at);
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return;
      this.at++;
    }
  }

  private unexpected(): Fault {
    const c = this.text.charCodeAt(this.at);
    return new Fault(c === 0 ? 'arguments.nul' : 'arguments.not-json', this.at);
  }
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;
