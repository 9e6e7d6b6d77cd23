import { sql, type Transaction } from 'kysely';
import type { StagingDatabase } from './schema.js';

/**
 * The next number of the space. It is taken only if the transaction commits, and the row stays locked until then: no
 * number is given twice and none is left out.
 */
export async function nextNumber(tx: Transaction<StagingDatabase>, spaceId: string): Promise<number> {
  const { last } = await tx
    .insertInto('counters')
    .values({ space_id: spaceId, last: 1 })
    .onConflict((c) => c.column('space_id').doUpdateSet({ last: sql`counters.last + 1` }))
    .returning('last')
    .executeTakeFirstOrThrow();
  return last;
}
