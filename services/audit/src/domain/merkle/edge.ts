import { foldRight, HASH_BYTES, perfectRoot, type Sha256 } from './hashes.js';

/** Hashes in a tile (C2SP tlog-tiles). A tile of level L holds roots of full subtrees of 256 to the power of L leaves. */
export const TILE_WIDTH = 256;

/** Full, and so the same for ever. */
export interface Tile {
  level: number;
  index: number;
  /** 256 hashes, one behind the other. */
  hashes: Uint8Array;
}

/** How many hashes of `level` a tree of `size` leaves has. */
export const hashesOf = (size: number, level: number): number => Math.floor(size / TILE_WIDTH ** level);

/**
 * The right edge of a tree: of each level the hashes that fill no tile yet. It is all that appending needs, at most 255
 * hashes a level. A value; appending makes another one.
 */
export class Edge {
  static readonly EMPTY = new Edge(0, []);

  private constructor(
    readonly size: number,
    private readonly levels: readonly (readonly Uint8Array[])[],
  ) {}

  /** @throws RangeError when the levels do not make up a tree of this size */
  static of(size: number, levels: readonly (readonly Uint8Array[])[]): Edge {
    for (let level = 0; hashesOf(size, level) > 0 || level < levels.length; level++)
      if ((levels[level]?.length ?? 0) !== hashesOf(size, level) % TILE_WIDTH)
        throw new RangeError(`level ${level} does not belong to a tree of ${size} leaves`);
    return new Edge(size, levels);
  }

  /** The tree with these leaves behind its own, and the tiles that they fill, in the order in which they do. */
  append(sha256: Sha256, leaves: readonly Uint8Array[]): { edge: Edge; tiles: Tile[] } {
    const levels = this.levels.map((level) => [...level]);
    const tiles: Tile[] = [];
    let size = this.size;
    for (const leaf of leaves) {
      size++;
      let hash: Uint8Array | undefined = leaf;
      for (let level = 0; hash !== undefined; level++) {
        levels[level] ??= [];
        const row = levels[level] as Uint8Array[];
        row.push(hash);
        hash = undefined;
        if (row.length < TILE_WIDTH) break;
        tiles.push({ level, index: hashesOf(size, level + 1) - 1, hashes: joined(row) });
        hash = perfectRoot(sha256, row);
        levels[level] = [];
      }
    }
    return { edge: new Edge(size, levels), tiles };
  }

  root(sha256: Sha256): Uint8Array {
    return foldRight(
      sha256,
      this.levels.toReversed().flatMap((row) => subtrees(sha256, row)),
    );
  }
}

/** Roots of the full subtrees that make up a row, the largest first. */
function subtrees(sha256: Sha256, row: readonly Uint8Array[]): Uint8Array[] {
  const roots: Uint8Array[] = [];
  for (let at = 0; at < row.length; ) {
    const width = 2 ** Math.floor(Math.log2(row.length - at));
    roots.push(perfectRoot(sha256, row.slice(at, at + width)));
    at += width;
  }
  return roots;
}

function joined(row: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(row.length * HASH_BYTES);
  for (const [i, hash] of row.entries()) bytes.set(hash, i * HASH_BYTES);
  return bytes;
}
