import type { Sealed } from '@holdpoint/contracts';
import { Keyring } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import type { Summary } from '../domain/memory.js';
import type { Database } from './schema.js';

/** What stands in prompts for the beginning of a long conversation. Sealed like the turns, which stay. */
export class Summaries {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly keyring: Keyring,
  ) {}

  async latest(spaceId: string, conversationId: string): Promise<Summary | null> {
    const row = await this.db
      .selectFrom('summaries')
      .selectAll()
      .where('conversation_id', '=', conversationId)
      .orderBy('covers', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (!row) return null;
    const at = { spaceId, entityId: entityOf(conversationId, row.covers), field: 'turn' as const };
    const text = await this.keyring.open(JSON.parse(row.content) as Sealed, at);
    return { covers: row.covers, text: Buffer.from(text).toString('utf8') };
  }

  /** To be done before a transaction begins: sealing may need a connection of its own. */
  seal(
    { spaceId, conversationId }: { spaceId: string; conversationId: string },
    { covers, text }: Summary,
  ): Promise<Sealed> {
    const entityId = entityOf(conversationId, covers);
    return this.keyring.seal({ conversationId, spaceId, entityId, field: 'turn' }, text);
  }

  async add(
    tx: Transaction<Database>,
    { conversationId, runId }: { conversationId: string; runId: string },
    covers: number,
    content: Sealed,
  ): Promise<void> {
    await tx
      .insertInto('summaries')
      .values({ conversation_id: conversationId, covers, run_id: runId, content: JSON.stringify(content) })
      .execute();
  }
}

/** A box is bound to what it covers, and can be neither moved nor taken for a turn. */
const entityOf = (conversationId: string, covers: number) => `${conversationId}-summary-${covers}`;
