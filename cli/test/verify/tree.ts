import { createHash } from 'node:crypto';

const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

export function leafHash(subject: string, body: Uint8Array): Buffer {
  const name = Buffer.from(subject, 'utf8');
  const length = Buffer.from([name.length >>> 24, name.length >>> 16, name.length >>> 8, name.length]);
  return sha256(Buffer.of(0), length, name, body);
}

/** The largest power of two below `n`. */
const below = (n: number): number => 2 ** Math.ceil(Math.log2(n) - 1);

/** MTH, PATH and SUBPROOF to the letter of RFC 9162, sections 2.1.1, 2.1.3.1 and 2.1.4.1; slow, and with nothing to get wrong. */
export function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0] as Buffer;
  const k = below(leaves.length);
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)));
}

export function inclusion(index: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length <= 1) return [];
  const k = below(leaves.length);
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  return index < k ? [...inclusion(index, left), rootOf(right)] : [...inclusion(index - k, right), rootOf(left)];
}

export function consistency(older: number, leaves: readonly Buffer[], isComplete = true): Buffer[] {
  if (older === leaves.length) return isComplete ? [] : [rootOf(leaves)];
  const k = below(leaves.length);
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  return older <= k
    ? [...consistency(older, left, isComplete), rootOf(right)]
    : [...consistency(older - k, right, false), rootOf(left)];
}
