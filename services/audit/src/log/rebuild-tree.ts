import { Logger } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { Edge, hashesOf, TILE_WIDTH } from '../domain/merkle/edge.js';
import type { Position } from '../domain/sequence.js';
import type { Database } from '../store/schema.js';
import { countTiles, insertTiles, leavesOf } from '../store/tree-tiles.js';
import { sha256 } from './sha256.js';
import { TreeAt, TreeDamaged } from './tree-at.js';

/** Rows of the log read at once: at most 256 MiB, 1 MiB usually. */
const LEAVES_AT_ONCE = TILE_WIDTH;
const TELL_EVERY_MS = 5_000;

/**
 * The tree's right edge, as the log's rows have it. Tiles that a log lacks, since it is older than its tree, are filled in.
 * @throws TreeDamaged when the tables hold no tree of this log
 */
export async function rebuildTree(session: Kysely<Database>, { firstSeq, lastSeq }: Position): Promise<Edge> {
  const log = new Logger('AuditLog');
  const size = lastSeq - firstSeq + 1;
  let edge = await storedEdge(session, Math.min(size, (await countTiles(session, 0)) * TILE_WIDTH), firstSeq);
  let toldAt = performance.now();
  const missing = size - edge.size;
  if (missing >= TILE_WIDTH) log.log(`the tree lacks ${missing} of ${size} events: it is filled in`);
  while (edge.size < size) {
    const from = firstSeq + edge.size;
    const to = Math.min(from + LEAVES_AT_ONCE, lastSeq + 1);
    const leaves = await leavesOf(session, sha256, from, to);
    if (leaves.length !== to - from) throw new TreeDamaged(`the log lacks events from ${from} to ${to - 1}`);
    const next = edge.append(sha256, leaves);
    await session.transaction().execute((tx) => insertTiles(tx, next.tiles));
    edge = next.edge;
    if (performance.now() - toldAt < TELL_EVERY_MS) continue;
    toldAt = performance.now();
    log.log(`the tree has ${edge.size} of ${size} events`);
  }
  if (missing >= TILE_WIDTH) log.log(`the tree has all ${size} events`);
  return edge;
}

/** Of a tree that ends with a full tile. */
async function storedEdge(db: Kysely<Database>, size: number, firstSeq: number): Promise<Edge> {
  if (size % TILE_WIDTH !== 0) throw new TreeDamaged('there are tiles of events that the log does not have');
  const tree = new TreeAt(db, size, firstSeq);
  const levels: Uint8Array[][] = [];
  for (let level = 0; hashesOf(size, level) > 0; level++) {
    if ((await countTiles(db, level)) !== hashesOf(size, level + 1))
      throw new TreeDamaged(`level ${level} has more or fewer tiles than a tree of ${size} events`);
    levels.push(await tree.edgeOf(level));
  }
  return Edge.of(size, levels);
}
