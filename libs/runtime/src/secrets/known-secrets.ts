import { CLOSING_UP, DECODINGS, type Decoding, decoded, decodedLayer, type Layer, source } from './decodings.js';
import { SHORTEST, type Spelling, spellingsOf } from './spellings.js';

export interface KnownSecret {
  name: string;
  /** At least eight characters: a shorter one could not be told from other text. */
  value: string;
  /** What stands in its place wherever it is scrubbed. */
  label: string;
}

type Needle = Spelling & { secret: KnownSecret };
interface Hit {
  start: number;
  end: number;
  secret: KnownSecret;
}

/** How many readings of one text are looked at, the likely ones first: a stranger chooses how often it is escaped. */
const MAX_READINGS = 16;
const BUCKETS = 1 << 16;
const ROUNDS = 3;
/** Stands for a secret that has no reference. */
export const MASK = '[secret]';
export { SHORTEST as SHORTEST_SECRET };

/**
 * Finds the values of secrets in text: as they are, closed up, in base64, in hexadecimal, with escapes of JSON, URLs and HTML,
 * also one inside another. Each reading of a text takes one pass, however many secrets there are.
 */
export class KnownSecrets {
  readonly #buckets: (Needle[] | undefined)[] = new Array(BUCKETS);
  readonly #some = new Uint8Array(BUCKETS);
  readonly #empty: boolean;

  /** Of two secrets with one value the first is named. */
  constructor(secrets: readonly KnownSecret[]) {
    const seen = new Set<string>();
    for (const secret of secrets)
      for (const spelling of spellingsOf(secret.value)) {
        if (seen.has(spelling.text)) continue;
        seen.add(spelling.text);
        const at = bucketOf(spelling.text, 0);
        this.#some[at] = 1;
        this.#buckets[at] = [...(this.#buckets[at] ?? []), { ...spelling, secret }];
      }
    // where one secret contains another the whole of it goes
    for (const needles of this.#buckets) needles?.sort((a, b) => b.text.length - a.text.length);
    this.#empty = seen.size === 0;
  }

  /** Names of the secrets that the text holds, each once. */
  find(text: string): string[] {
    const names = new Set<string>();
    if (this.#empty || text.length < SHORTEST) return [];
    for (const { text: reading } of readings(text)) for (const h of this.#hits(reading)) names.add(h.secret.name);
    return [...names];
  }

  /** The text with a label in place of each value. Nothing found, and it is the very text. */
  scrub(text: string): string {
    let clean = text;
    for (let round = 0; round < ROUNDS; round++) {
      const next = this.#once(clean);
      if (next === clean) return clean;
      clean = next;
    }
    // what still holds a value after that was made to; nothing of it is kept
    return this.find(clean).length === 0 ? clean : MASK;
  }

  #once(text: string): string {
    if (this.#empty || text.length < SHORTEST) return text;
    const found: Hit[] = [];
    for (const { text: reading, how } of readings(text)) {
      const hits = this.#hits(reading);
      if (hits.length === 0) continue;
      const { from, to } = how.reduce<Layer>(decodedLayer, source(text));
      for (const h of hits) found.push({ ...h, start: from[h.start] as number, end: to[h.end - 1] as number });
    }
    return replaced(text, found);
  }

  #hits(text: string): Hit[] {
    const hits: Hit[] = [];
    for (let i = 0; i + SHORTEST <= text.length; i++) {
      const bucket = bucketOf(text, i);
      if (this.#some[bucket] === 0) continue;
      const needles = this.#buckets[bucket] ?? [];
      const rest = text.length - i;
      const needle =
        needles.find((n) => text.startsWith(n.text, i)) ??
        // of a value that is cut off at the end of the text what is there counts
        needles.find((n) => n.text.length > rest && n.text.startsWith(text.slice(i)));
      if (!needle) continue;
      const end = Math.min(i + needle.text.length, text.length);
      const start = needle.before && inBase64(text, i - 1) ? i - 1 : i;
      hits.push({ start, end: needle.after && inBase64(text, end) ? end + 1 : end, secret: needle.secret });
      i = end - 1;
    }
    return hits;
  }
}

const bucketOf = (text: string, i: number): number =>
  (text.charCodeAt(i) * 961 +
    text.charCodeAt(i + 1) * 7 +
    text.charCodeAt(i + 2) * 1_021 +
    text.charCodeAt(i + 3) * 31) &
  (BUCKETS - 1);

const inBase64 = (text: string, i: number): boolean => /^[\w+/-]$/.test(text.charAt(i));

/** The text as it is and decoded in every way, each way also of what another one gave; and each of them closed up. */
function* readings(text: string): Generator<{ text: string; how: Decoding[] }> {
  const seen = new Set([text]);
  const open: { text: string; how: Decoding[] }[] = [{ text, how: [] }];
  for (let reading = open.shift(); reading; reading = open.shift()) {
    yield reading;
    const closed = decoded(reading.text, CLOSING_UP);
    if (closed !== reading.text) yield { text: closed, how: [...reading.how, CLOSING_UP] };
    for (const d of DECODINGS) {
      if (seen.size >= MAX_READINGS) break;
      const next = decoded(reading.text, d);
      if (seen.has(next)) continue;
      seen.add(next);
      open.push({ text: next, how: [...reading.how, d] });
    }
  }
}

function replaced(text: string, hits: Hit[]): string {
  hits.sort((a, b) => a.start - b.start || b.end - a.end);
  let out = '';
  let from = 0;
  for (const { start, end, secret } of hits) {
    if (start >= from) out += text.slice(from, start) + secret.label;
    from = Math.max(from, end);
  }
  return hits.length === 0 ? text : out + text.slice(from);
}
