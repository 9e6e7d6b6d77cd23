import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Database } from './schema.js';

export type StoredCheckpoint = Pick<Selectable<Database['checkpoints']>, 'number' | 'size' | 'root' | 'note'>;
export type StoredKey = Omit<Selectable<Database['signing_keys']>, 'made_at'>;

type Db = Kysely<Database> | Transaction<Database>;
const COLUMNS = ['number', 'size', 'root', 'note'] as const;

export async function insertCheckpoint(tx: Transaction<Database>, checkpoint: StoredCheckpoint): Promise<void> {
  await tx.insertInto('checkpoints').values(checkpoint).execute();
}

/** After the checkpoint that it was the first to sign. */
export async function insertKey(tx: Transaction<Database>, key: StoredKey): Promise<void> {
  await tx.insertInto('signing_keys').values(key).execute();
}

/** The latest of all, or of this size. */
export async function latestCheckpoint(db: Db, size?: number): Promise<StoredCheckpoint | null> {
  const query = db.selectFrom('checkpoints').select(COLUMNS).orderBy('number', 'desc').limit(1);
  const row = await (size === undefined ? query : query.where('size', '=', size)).executeTakeFirst();
  return row ?? null;
}

/** The number under which this very note is stored. */
export async function numberOf(db: Db, size: number, note: string): Promise<number | null> {
  const row = await db
    .selectFrom('checkpoints')
    .select('number')
    .where('size', '=', size)
    .where('note', '=', note)
    .executeTakeFirst();
  return row?.number ?? null;
}

/** In the order in which they were made, behind `after` and up to `upTo`. */
export function checkpointsBehind(db: Db, after: number, limit: number, upTo?: number): Promise<StoredCheckpoint[]> {
  const query = db.selectFrom('checkpoints').select(COLUMNS).where('number', '>', after);
  return (upTo === undefined ? query : query.where('number', '<=', upTo)).orderBy('number').limit(limit).execute();
}

/** In the order in which they signed; the last one does now. */
export const signingKeys = (db: Db): Promise<StoredKey[]> =>
  db
    .selectFrom('signing_keys')
    .select(['number', 'vkey', 'since_size', 'checkpoint', 'note'])
    .orderBy('number')
    .execute();
