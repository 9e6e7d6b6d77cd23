import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Edge, hashesOf, TILE_WIDTH, type Tile } from './edge.js';
import { foldRight, leafHash, nodeHash, perfectRoot, type Sha256 } from './hashes.js';
import { consistencyRanges, inclusionRanges, perfectNodes, type Range } from './proofs.js';

const sha256: Sha256 = (...parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** The reference tree of Certificate Transparency (RFC 6962): eight leaves, and the root after each. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const reference = LEAVES.map((leaf) => sha256(Uint8Array.of(0), Buffer.from(leaf, 'hex')));

/** MTH of RFC 9162, section 2.1.1, as it is written there. */
function mth(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0] as Uint8Array;
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return nodeHash(sha256, mth(leaves.slice(0, k)), mth(leaves.slice(k)));
}

const proofOf = (leaves: readonly Uint8Array[], ranges: Range[]) =>
  ranges.map(({ start, end }) =>
    foldRight(
      sha256,
      perfectNodes({ start, end }).map(({ height, index }) =>
        perfectRoot(sha256, leaves.slice(index * 2 ** height, (index + 1) * 2 ** height)),
      ),
    ),
  );

/** RFC 9162, section 2.1.3.2: the root that an inclusion proof leads to. */
function rootOfInclusion(index: number, size: number, leaf: Uint8Array, proof: readonly Uint8Array[]): Uint8Array {
  let [fn, sn, r] = [index, size - 1, leaf];
  for (const p of proof) {
    if (sn === 0) throw new Error('too long');
    if (fn % 2 === 1 || fn === sn) {
      r = nodeHash(sha256, p, r);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
    } else r = nodeHash(sha256, r, p);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  if (sn !== 0) throw new Error('too short');
  return r;
}

/** RFC 9162, section 2.1.4.2: the two roots that a consistency proof leads to. */
function rootsOfConsistency(from: number, to: number, fromRoot: Uint8Array, proof: readonly Uint8Array[]) {
  const path = Number.isInteger(Math.log2(from)) ? [fromRoot, ...proof] : [...proof];
  let [fn, sn] = [from - 1, to - 1];
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  let [fr, sr] = [path[0] as Uint8Array, path[0] as Uint8Array];
  for (const c of path.slice(1)) {
    if (sn === 0) throw new Error('too long');
    if (fn % 2 === 1 || fn === sn) {
      fr = nodeHash(sha256, c, fr);
      sr = nodeHash(sha256, c, sr);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
    } else sr = nodeHash(sha256, sr, c);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  if (sn !== 0) throw new Error('too short');
  return [fr, sr];
}

describe('the reference tree', () => {
  it('has the known roots', () => {
    expect(hex(Edge.EMPTY.root(sha256))).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    for (const [i, root] of ROOTS.entries()) {
      expect(hex(mth(reference.slice(0, i + 1)))).toBe(root);
      expect(hex(Edge.EMPTY.append(sha256, reference.slice(0, i + 1)).edge.root(sha256))).toBe(root);
    }
  });

  it('has the known inclusion proofs', () => {
    const proof = (index: number, size: number) => proofOf(reference, inclusionRanges(index, size)).map(hex);
    expect(proof(0, 1)).toEqual([]);
    expect(proof(0, 8)).toEqual([
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ]);
    expect(proof(5, 8)).toEqual([
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
    expect(proof(2, 3)).toEqual(['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125']);
    expect(proof(1, 5)).toEqual([
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ]);
  });

  it('has the known consistency proofs', () => {
    const proof = (from: number, to: number) => proofOf(reference, consistencyRanges(from, to)).map(hex);
    expect(proof(1, 1)).toEqual([]);
    expect(proof(1, 8)).toEqual([
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ]);
    expect(proof(6, 8)).toEqual([
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
    expect(proof(2, 5)).toEqual([
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ]);
  });
});

describe('any tree', () => {
  const leaves = Array.from({ length: 40 }, (_, i) => leafHash(sha256, `subject.${i}`, Buffer.from(`body ${i}`)));

  const roots = leaves.map((_, i) => mth(leaves.slice(0, i + 1)));

  it('every inclusion proof leads to the root, and to no other leaf’s', () => {
    for (let size = 1; size <= leaves.length; size++)
      for (let index = 0; index < size; index++) {
        const proof = proofOf(leaves, inclusionRanges(index, size));
        const root = hex(roots[size - 1] as Uint8Array);
        expect(hex(rootOfInclusion(index, size, leaves[index] as Uint8Array, proof))).toBe(root);
        if (size > 1)
          expect(hex(rootOfInclusion(index, size, leaves[(index + 1) % size] as Uint8Array, proof))).not.toBe(root);
      }
  });

  it('every consistency proof leads to both roots', () => {
    for (let to = 2; to <= leaves.length; to++)
      for (let from = 1; from < to; from++) {
        const [old, now] = [roots[from - 1], roots[to - 1]] as [Uint8Array, Uint8Array];
        const proof = proofOf(leaves, consistencyRanges(from, to));
        expect(rootsOfConsistency(from, to, old, proof).map(hex)).toEqual([old, now].map(hex));
      }
  });

  it('a subject cannot pass for the beginning of a body', () => {
    expect(hex(leafHash(sha256, 'ab', Buffer.from('c')))).not.toBe(hex(leafHash(sha256, 'a', Buffer.from('bc'))));
  });

  it('is the same in whatever portions it was appended, and so are its tiles', () => {
    const many = Array.from({ length: TILE_WIDTH ** 2 + 300 }, (_, i) => sha256(Uint8Array.of(i, i >> 8, i >> 16)));
    const whole = Edge.EMPTY.append(sha256, many);
    const told = (t: Tile) => `${t.level}/${t.index} ${hex(t.hashes)}`;
    let edge = Edge.EMPTY;
    const tiles: Tile[] = [];
    for (let at = 0, step = 1; at < many.length; at += step, step = ((step * 7 + 3) % 997) + 1) {
      const next = edge.append(sha256, many.slice(at, at + step));
      edge = next.edge;
      tiles.push(...next.tiles);
    }
    expect(edge.size).toBe(many.length);
    expect(hex(edge.root(sha256))).toBe(hex(mth(many)));
    expect(tiles.map(told)).toEqual(whole.tiles.map(told));
    for (const level of [0, 1]) {
      const own = tiles.filter((t) => t.level === level);
      expect(own.map((t) => t.index)).toEqual(Array.from({ length: hashesOf(many.length, level + 1) }, (_, i) => i));
    }
  });

  it('an edge that does not fit its size is refused', () => {
    expect(Edge.of(2, [reference.slice(0, 2)]).size).toBe(2);
    expect(() => Edge.of(3, [reference.slice(0, 2)])).toThrow(RangeError);
    expect(() => Edge.of(256, [[], []])).toThrow(RangeError);
  });
});
