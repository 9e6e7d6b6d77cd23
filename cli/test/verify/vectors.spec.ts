import { describe, expect, it } from '@jest/globals';
import {
  Frontier,
  hashLeaf,
  isConsistent,
  Keys,
  parseCheckpoint,
  parseKey,
  parseNote,
  rootByInclusion,
} from '../../verify/holdpoint-verify.mjs';

const hex = (text: string) => Buffer.from(text, 'hex');

/** Leaves, roots and proofs that the implementations of RFC 6962 and 9162 test each other by (transparency-dev/merkle). */
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
].map(hex);
const rootOf = (size: number) => ROOTS[size - 1] as Buffer;
const N = {
  a: '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
  b: '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
  c: '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  d: 'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  e: 'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
  f: 'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  g: '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  h: '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
  i: 'b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f',
  j: 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
};
const proof = (names: string) => [...names].map((name) => hex(N[name as keyof typeof N]));

describe('the tree (RFC 9162)', () => {
  it('has the reference roots', () => {
    const tree = new Frontier();
    expect(tree.root().toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    for (const [i, leaf] of LEAVES.entries()) {
      tree.append(hashLeaf(hex(leaf)));
      expect(tree.root()).toEqual(ROOTS[i]);
    }
  });

  it.each([
    [0, 8, 'abc'],
    [5, 8, 'def'],
    [2, 3, 'j'],
    [1, 5, 'gbd'],
  ])('leaf %i stands in the tree of %i by the reference proof, and by nothing like it', (index, size, names) => {
    const leaf = hashLeaf(hex(LEAVES[index] as string));
    const path = proof(names);
    const shows = (i: number, n: number, p: Buffer[], root: Buffer) =>
      rootByInclusion(i, n, leaf, p)?.equals(root) ?? false;
    expect(shows(index, size, path, rootOf(size))).toBe(true);
    expect(shows(index + 1, size, path, rootOf(size))).toBe(false);
    expect(shows(index, size * 2, path, rootOf(size))).toBe(false);
    expect(shows(index, size, path.slice(1), rootOf(size))).toBe(false);
    expect(shows(index, size, [...path, rootOf(size)], rootOf(size))).toBe(false);
    expect(shows(index, size, [rootOf(1), ...path], rootOf(size))).toBe(false);
    for (const i of path.keys()) {
      const wrong = path.map((h, at) => (at === i ? Buffer.from(h.map((byte, b) => (b === 0 ? byte ^ 8 : byte))) : h));
      expect(shows(index, size, wrong, rootOf(size))).toBe(false);
    }
  });

  it.each([
    [1, 1, ''],
    [1, 8, 'abc'],
    [6, 8, 'hef'],
    [2, 5, 'bd'],
    [6, 7, 'hif'],
  ])('the tree of %i is the beginning of that of %i by the reference proof, and by nothing like it', (a, b, names) => {
    const [older, newer] = [
      { size: a, root: rootOf(a) },
      { size: b, root: rootOf(b) },
    ];
    const path = proof(names);
    expect(isConsistent(older, newer, path)).toBe(true);
    expect(isConsistent(older, newer, [...path, older.root])).toBe(false);
    expect(isConsistent(newer, older, path)).toBe(a === b);
    expect(isConsistent({ ...older, root: rootOf(4) }, newer, path)).toBe(false);
    expect(isConsistent(older, { ...newer, root: rootOf(4) }, path)).toBe(false);
    if (path.length > 0) {
      expect(isConsistent(older, newer, [])).toBe(false);
      expect(isConsistent(older, newer, path.slice(0, -1))).toBe(false);
      expect(isConsistent({ ...older, size: a + 1 }, newer, path)).toBe(false);
      expect(isConsistent(older, { ...newer, size: b * 2 }, path)).toBe(false);
    }
  });
});

/** The example of golang.org/x/mod/sumdb/note and what its tests refuse. */
const PETER = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const ENOCH = 'EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop';
const TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const BY_PETER =
  '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';
const BY_ENOCH =
  '— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n';

describe('signed notes (c2sp.org/signed-note)', () => {
  it('reads a key, and none that was mangled', () => {
    expect(parseKey(PETER)).toMatchObject({ name: 'PeterNeumann', id: 'c74f20a3' });
    for (let i = 0; i < PETER.length; i++) {
      expect(() => parseKey(PETER.slice(i + 1))).toThrow();
      expect(() => parseKey(PETER.slice(0, i))).toThrow();
      const next = String.fromCharCode(PETER.charCodeAt(i) + 1);
      expect(() => parseKey(PETER.slice(0, i) + next + PETER.slice(i + 1))).toThrow();
    }
    // wrong length, and an unknown type, both under the right id
    expect(() => parseKey('PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==')).toThrow();
    expect(() => parseKey('PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW')).toThrow();
  });

  it('tells good, bad and unknown signatures apart', () => {
    const both = parseNote(`${TEXT}\n${BY_PETER}${BY_ENOCH}`);
    expect(both.text).toBe(TEXT);
    const found = (vkeys: string[], note = both) => {
      const { good, bad, unknown } = new Keys(vkeys).check(note);
      return [good.map((k) => k.name), bad.map((k) => k.name), unknown.map((s) => s.name)];
    };
    expect(found([PETER])).toEqual([['PeterNeumann'], [], ['EnochRoot']]);
    expect(found([PETER, ENOCH])).toEqual([['PeterNeumann', 'EnochRoot'], [], []]);
    expect(found([])).toEqual([[], [], ['PeterNeumann', 'EnochRoot']]);
    expect(found([PETER], { ...both, text: `${TEXT} ` })).toEqual([[], ['PeterNeumann'], ['EnochRoot']]);
  });

  it.each([
    ['no signature', TEXT],
    ['an empty one', `${TEXT}\n`],
    ['no line feed at the end', `${TEXT}\n${BY_PETER.slice(0, -1)}`],
    ['a control character', `\u0001${TEXT}\n${BY_PETER}`],
    ['half a character', `\ud800${TEXT}\n${BY_PETER}`],
    ['a name with a space', `${TEXT}\n${BY_PETER.replace('Peter', 'Peter ')}`],
    ['another line behind', `${TEXT}\n${BY_PETER}Unexpected line.\n`],
    ['too many signatures', `${TEXT}\n${BY_PETER.repeat(101)}`],
  ])('refuses a note with %s', (_what, note) => expect(() => parseNote(note)).toThrow());
});

describe('checkpoints (c2sp.org/tlog-checkpoint)', () => {
  const EXAMPLE =
    'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n' +
    '— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n';
  it('reads the example, with the line that binds it to the stream', () => {
    const { text, signatures } = parseNote(EXAMPLE);
    expect(signatures).toMatchObject([{ name: 'example.com/behind-the-sofa', id: '033de0ae' }]);
    expect(parseCheckpoint(`${text}first 7\n`)).toEqual({
      ...{ origin: 'example.com/behind-the-sofa', size: 20852163, first: 7 },
      root: Buffer.from('CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=', 'base64'),
    });
  });
  it.each(['', 'second 7\n', 'first 07\n', 'first 7\nfirst 8\n'])('refuses it with %j behind', (line) => {
    expect(() => parseCheckpoint(parseNote(EXAMPLE).text + line)).toThrow();
  });
  it('refuses a size that is spelt otherwise, and half a root', () => {
    const text = `${parseNote(EXAMPLE).text}first 7\n`;
    expect(() => parseCheckpoint(text.replace('20852163', '020852163'))).toThrow();
    expect(() => parseCheckpoint(text.replace('CsUYapGGPo4dkMgI', ''))).toThrow();
  });
});
