import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { Database } from './schema.js';

/** Which conversations: what is named has to hold together; nothing named is all of them. */
export interface Erasable {
  spaceId?: string | undefined;
  conversationId?: string | undefined;
  personId?: string | undefined;
  /** Nothing was queued or ran in it since. */
  before?: Date | undefined;
}

export interface DestroyedKey {
  kid: string;
  spaceId: string;
  conversationId: string;
}

/** A run that waits or plays, or an effect that is under way. */
const BUSY = sql<boolean>`(
  EXISTS (SELECT FROM agent_engine.runs r WHERE r.conversation_id = c.conversation_id AND r.state IN ('queued', 'running'))
  OR EXISTS (SELECT FROM agent_engine.executions e JOIN agent_engine.runs r USING (run_id)
    WHERE r.conversation_id = c.conversation_id AND e.state = 'executing'))`;

/** Conversations with the keys that seal their content. */
export class ErasableConversations {
  /** Those that nobody else destroys at this moment, at most `limit` of them. */
  async destroyKeys(tx: Transaction<Database>, which: Erasable, limit: number): Promise<DestroyedKey[]> {
    const { rows } = await sql<DestroyedKey>`
      UPDATE keyring.data_keys AS gone SET wrapped = NULL, destroyed_at = clock_timestamp()
      FROM (
        SELECT k.kid FROM agent_engine.conversations c
        JOIN keyring.data_keys k ON k.space_id = c.space_id AND k.conversation_id = c.conversation_id
        WHERE k.wrapped IS NOT NULL AND ${matching(which)} AND NOT ${BUSY}
        ORDER BY c.created_at LIMIT ${limit} FOR UPDATE OF k SKIP LOCKED
      ) AS found
      WHERE gone.kid = found.kid
      RETURNING gone.kid, gone.space_id AS "spaceId", gone.conversation_id AS "conversationId"`.execute(tx);
    return rows;
  }

  async busy(db: Kysely<Database>, which: Erasable, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      SELECT c.conversation_id AS id FROM agent_engine.conversations c
      JOIN keyring.data_keys k ON k.space_id = c.space_id AND k.conversation_id = c.conversation_id
      WHERE k.wrapped IS NOT NULL AND ${matching(which)} AND ${BUSY}
      ORDER BY c.created_at LIMIT ${limit}`.execute(db);
    return rows.map((r) => r.id);
  }
}

function matching({ spaceId, conversationId, personId, before }: Erasable): RawBuilder<boolean> {
  const all = [sql`true`];
  if (spaceId !== undefined) all.push(sql`c.space_id = ${spaceId}`);
  if (conversationId !== undefined) all.push(sql`c.conversation_id = ${conversationId}`);
  if (personId !== undefined)
    all.push(sql`((c.principal_kind = 'person' AND c.principal_id = ${personId}) OR EXISTS (
      SELECT FROM agent_engine.runs r WHERE r.conversation_id = c.conversation_id
        AND r.principal_kind = 'person' AND r.principal_id = ${personId}))`);
  if (before !== undefined)
    all.push(sql`c.created_at < ${before} AND NOT EXISTS (
      SELECT FROM agent_engine.runs r WHERE r.conversation_id = c.conversation_id
        AND greatest(r.queued_at, r.completed_at) >= ${before})`);
  return sql<boolean>`${sql.join(all, sql` AND `)}`;
}
