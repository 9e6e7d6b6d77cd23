import type { Kysely, Transaction } from 'kysely';
import type { Tile } from '../domain/merkle/edge.js';
import { HASH_BYTES, leafHash, type Sha256 } from '../domain/merkle/hashes.js';
import type { Database } from './schema.js';

/** In the transaction that stores the leaves. */
export async function insertTiles(tx: Transaction<Database>, tiles: Tile[]): Promise<void> {
  if (tiles.length === 0) return;
  const rows = tiles.map(({ level, index, hashes }) => ({ level, index, hashes: Buffer.from(hashes) }));
  await tx.insertInto('tree_tiles').values(rows).execute();
}

/** How many full tiles a level has. */
export async function countTiles(db: Kysely<Database>, level: number): Promise<number> {
  const row = await db
    .selectFrom('tree_tiles')
    .select('index')
    .where('level', '=', level)
    .orderBy('index', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? 0 : row.index + 1;
}

/** The hashes of full tiles `from` up to and without `to`; fewer when some are missing. */
export async function tilesOf(db: Kysely<Database>, level: number, from: number, to: number): Promise<Uint8Array[][]> {
  const rows = await db
    .selectFrom('tree_tiles')
    .select('hashes')
    .where('level', '=', level)
    .where('index', '>=', from)
    .where('index', '<', to)
    .orderBy('index')
    .execute();
  return rows.map(({ hashes }) =>
    Array.from({ length: hashes.length / HASH_BYTES }, (_, i) => hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES)),
  );
}

/** Leaf hashes of the log's rows `fromSeq` up to and without `toSeq`. */
export async function leavesOf(
  db: Kysely<Database>,
  sha256: Sha256,
  fromSeq: number,
  toSeq: number,
): Promise<Uint8Array[]> {
  const rows = await db
    .selectFrom('event_log')
    .select(['subject', 'body'])
    .where('stream_seq', '>=', fromSeq)
    .where('stream_seq', '<', toSeq)
    .orderBy('stream_seq')
    .execute();
  return rows.map((row) => leafHash(sha256, row.subject, row.body));
}
