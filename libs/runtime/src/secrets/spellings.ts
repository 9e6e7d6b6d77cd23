import { closedUp } from './closed-up.js';

/** One way in which a value may be written. */
export interface Spelling {
  text: string;
  /** Whether a character before and after the text carries bits of the value too, as in base64 out of line with it. */
  before: boolean;
  after: boolean;
}

/**
 * The spellings of a value that no decoding of the text around it leads back to: as it is, in either normal form of
 * Unicode, closed up, as the usual encoders write it, in hexadecimal, and inside base64 at each of its three alignments.
 */
export function spellingsOf(value: string): Spelling[] {
  const spellings = new Map<string, Spelling>();
  const add = (text: string, before = false, after = false) => {
    if (text.length >= SHORTEST && !spellings.has(text)) spellings.set(text, { text, before, after });
  };
  for (const form of new Set([value, value.normalize('NFC'), value.normalize('NFD')])) {
    const bytes = Buffer.from(form, 'utf8');
    const hex = bytes.toString('hex');
    add(form);
    add(closedUp(form));
    add(JSON.stringify(form).slice(1, -1));
    add(encodeURIComponent(form.toWellFormed()));
    add(new URLSearchParams([['', form]]).toString().slice(1));
    add(form.replace(/[&<>"']/g, (ch) => HTML[ch] as string));
    add(hex);
    add(hex.toUpperCase());
    for (const encoding of ['base64', 'base64url'] as const)
      for (const shift of [0, 1, 2]) {
        const whole = Buffer.concat([Buffer.alloc(shift), bytes]).toString(encoding);
        const from = Math.ceil((8 * shift) / 6);
        const to = Math.floor((8 * (shift + bytes.length)) / 6);
        add(whole.slice(from, to), (8 * shift) % 6 > 0, (8 * (shift + bytes.length)) % 6 > 0);
      }
  }
  return [...spellings.values()];
}

/** Shorter texts stand in too many others. */
export const SHORTEST = 8;

const HTML: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
