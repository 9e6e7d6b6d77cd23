/** SHA-256 of the concatenation of what it is given. */
export type Sha256 = (...parts: readonly Uint8Array[]) => Uint8Array;

export const HASH_BYTES = 32;

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);
const utf8 = new TextEncoder();

/** The hash of a logged message (RFC 9162, section 2.1.1) over the length of its subject, the subject, and the body. */
export function leafHash(sha256: Sha256, subject: string, body: Uint8Array): Uint8Array {
  const name = utf8.encode(subject);
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, name.length);
  return sha256(LEAF, length, name, body);
}

export const nodeHash = (sha256: Sha256, left: Uint8Array, right: Uint8Array): Uint8Array => sha256(NODE, left, right);

/** The root over subtrees that stand side by side, from the largest to the smallest, each full but for none. */
export function foldRight(sha256: Sha256, subtrees: readonly Uint8Array[]): Uint8Array {
  const last = subtrees.at(-1);
  // The root of an empty tree.
  if (last === undefined) return sha256();
  return subtrees.slice(0, -1).reduceRight((right, left) => nodeHash(sha256, left, right), last);
}

/** The root of a full subtree over `hashes`, whose number is a power of two. */
export function perfectRoot(sha256: Sha256, hashes: readonly Uint8Array[]): Uint8Array {
  let row = hashes;
  while (row.length > 1) row = parents(sha256, row);
  return row[0] as Uint8Array;
}

/** The row above `row`; an odd one at its end has no parent yet. */
export const parents = (sha256: Sha256, row: readonly Uint8Array[]): Uint8Array[] =>
  Array.from({ length: Math.floor(row.length / 2) }, (_, i) =>
    nodeHash(sha256, row[2 * i] as Uint8Array, row[2 * i + 1] as Uint8Array),
  );
