import type { Kysely } from 'kysely';
import { hashesOf, TILE_WIDTH } from '../domain/merkle/edge.js';
import { foldRight, parents, perfectRoot } from '../domain/merkle/hashes.js';
import { consistencyRanges, inclusionRanges, perfectNodes, type Range } from '../domain/merkle/proofs.js';
import type { Database } from '../store/schema.js';
import { leavesOf, tilesOf } from '../store/tree-tiles.js';
import { LogHalted } from './log-halted.js';
import { sha256 } from './sha256.js';

/** The stored tree lacks what a tree of this size has: somebody took from the tables. */
export class TreeDamaged extends LogHalted {
  constructor(what: string) {
    super(
      'audit.tree-damaged',
      `${what}: rows were added or taken away by force. Stop all services, and find out by an export of the log and a checkpoint that was kept elsewhere what was done.`,
    );
  }
}

const TILE_HEIGHT = 8;
/** 16 KiB of hashes each. */
const TILES_KEPT = 32;

/**
 * The tree as it was when it had `size` leaves, read from the tables; of a later one it shows nothing. Nodes are read once:
 * use one for all the proofs of an export.
 */
export class TreeAt {
  /** Rows of hashes of a tile, from its own upwards; the least recently used goes first. */
  readonly #tiles = new Map<string, Promise<Uint8Array[][]>>();
  /** Hashes over what lies right of every full subtree, by where it begins. */
  readonly #edges = new Map<number, Promise<Uint8Array>>();

  constructor(
    private readonly db: Kysely<Database>,
    readonly size: number,
    private readonly firstSeq: number,
  ) {}

  root(): Promise<Uint8Array> {
    return this.#hash({ start: 0, end: this.size });
  }

  /** From the leaf's sibling up (RFC 9162, section 2.1.3.1). @throws RangeError */
  inclusion(index: number): Promise<Uint8Array[]> {
    return Promise.all(inclusionRanges(index, this.size).map((range) => this.#hash(range)));
  }

  /** That it grew out of the tree of `from` leaves (RFC 9162, section 2.1.4.1). @throws RangeError */
  consistency(from: number): Promise<Uint8Array[]> {
    return Promise.all(consistencyRanges(from, this.size).map((range) => this.#hash(range)));
  }

  /** Hashes of a level that fill no tile. */
  async edgeOf(level: number): Promise<Uint8Array[]> {
    const count = hashesOf(this.size, level) % TILE_WIDTH;
    return count === 0 ? [] : ((await this.#tile(level, hashesOf(this.size, level + 1)))[0] ?? []);
  }

  #hash(range: Range): Promise<Uint8Array> {
    if (range.end < this.size) return this.#fold(range);
    const known = this.#edges.get(range.start) ?? this.#fold(range);
    this.#edges.set(range.start, known);
    return known;
  }

  async #fold(range: Range): Promise<Uint8Array> {
    const nodes = perfectNodes(range).map(({ height, index }) => this.#node(height, index));
    return foldRight(sha256, await Promise.all(nodes));
  }

  async #node(height: number, index: number): Promise<Uint8Array> {
    const level = Math.floor(height / TILE_HEIGHT);
    const row = height % TILE_HEIGHT;
    const width = TILE_WIDTH / 2 ** row;
    const tile = Math.floor(index / width);
    const hash = (await this.#tile(level, tile))[row]?.[index - tile * width];
    if (hash === undefined) throw new TreeDamaged(`tile ${level}/${tile} lacks a hash`);
    return hash;
  }

  #tile(level: number, index: number): Promise<Uint8Array[][]> {
    const key = `${level}/${index}`;
    const tile = this.#tiles.get(key) ?? this.#load(level, index);
    this.#tiles.delete(key);
    this.#tiles.set(key, tile);
    if (this.#tiles.size > TILES_KEPT) this.#tiles.delete(this.#tiles.keys().next().value as string);
    return tile;
  }

  async #load(level: number, index: number): Promise<Uint8Array[][]> {
    const count = Math.min(TILE_WIDTH, hashesOf(this.size, level) - index * TILE_WIDTH);
    const rows = [await this.#hashes(level, index, count)];
    while ((rows.at(-1) as Uint8Array[]).length > 1) rows.push(parents(sha256, rows.at(-1) as Uint8Array[]));
    return rows;
  }

  /** A full tile is in the table, as is one that has become full since; else its hashes come from the level below. */
  async #hashes(level: number, index: number, count: number): Promise<Uint8Array[]> {
    const [stored] = await tilesOf(this.db, level, index, index + 1);
    if (stored !== undefined) return stored.slice(0, count);
    if (count === TILE_WIDTH) throw new TreeDamaged(`tile ${level}/${index} is missing`);
    const from = index * TILE_WIDTH;
    const hashes =
      level === 0
        ? await leavesOf(this.db, sha256, this.firstSeq + from, this.firstSeq + from + count)
        : (await tilesOf(this.db, level - 1, from, from + count)).map((tile) => perfectRoot(sha256, tile));
    if (hashes.length !== count)
      throw new TreeDamaged(`level ${level} has ${hashes.length} of ${count} from ${from} on`);
    return hashes;
  }
}
