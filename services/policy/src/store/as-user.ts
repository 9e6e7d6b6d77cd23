import { type Kysely, sql, type Transaction } from 'kysely';
import type { PolicyDatabase } from './schema.js';

/** One transaction as one person: the row policies then let through what this person may see and change, and no more. */
export function asUser<T>(
  db: Kysely<PolicyDatabase>,
  userId: string,
  work: (tx: Transaction<PolicyDatabase>) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (tx) => {
    await sql`SELECT set_config('app.user_id', ${userId}, true)`.execute(tx);
    return work(tx);
  });
}

/** The person of the transaction is an operator: the row policies then let them halt everything. */
export async function asOperator(tx: Transaction<PolicyDatabase>): Promise<void> {
  await sql`SELECT set_config('app.operator', 'on', true)`.execute(tx);
}

/** Until the transaction ends nobody else changes the space: what was read stays true, and events are added in order. */
export async function lockSpace(tx: Transaction<PolicyDatabase>, spaceId: string): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended('holdpoint.space.' || ${spaceId}, 0))`.execute(tx);
}
