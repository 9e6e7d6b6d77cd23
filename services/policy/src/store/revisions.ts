import { sql, type Transaction } from 'kysely';
import type { PolicyDatabase } from './schema.js';

/** One higher than the last one of the space. @throws when the person of the transaction may not change the space's policy */
export async function nextRevision(tx: Transaction<PolicyDatabase>, spaceId: string): Promise<number> {
  const { rows } = await sql<{ revision: number }>`SELECT policy.next_revision(${spaceId}) AS revision`.execute(tx);
  return (rows[0] as { revision: number }).revision;
}
