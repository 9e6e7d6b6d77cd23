import type { Sealed } from '@holdpoint/contracts';
import { Keyring } from '@holdpoint/runtime';
import type { Kysely } from 'kysely';
import type { Turn } from '../domain/conversation.js';
import type { Database } from './schema.js';

/** The conversation as it was said, in order. Content is sealed under the conversation's key at all times. */
export class Turns {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly keyring: Keyring,
  ) {}

  async list(spaceId: string, conversationId: string): Promise<{ runId: string; at: Date; turn: Turn }[]> {
    const rows = await this.db
      .selectFrom('turns')
      .selectAll()
      .where('conversation_id', '=', conversationId)
      .orderBy('position')
      .execute();
    return Promise.all(
      rows.map(async (r) => {
        const box = JSON.parse(r.content) as Sealed;
        const bytes = await this.keyring.open(box, { spaceId, entityId: conversationId, field: 'turn' });
        return { runId: r.run_id, at: r.created_at, turn: JSON.parse(Buffer.from(bytes).toString()) as Turn };
      }),
    );
  }

  /** Only the one running run of a conversation appends; a lost one that comes back is stopped by the primary key. */
  async append(
    tx: Kysely<Database>,
    run: { spaceId: string; conversationId: string; runId: string },
    turn: Turn,
  ): Promise<void> {
    const { spaceId, conversationId } = run;
    const content = await this.keyring.seal(
      { conversationId, spaceId, entityId: conversationId, field: 'turn' },
      JSON.stringify(turn),
    );
    const last = await tx
      .selectFrom('turns')
      .select((e) => e.fn.max('position').as('position'))
      .where('conversation_id', '=', conversationId)
      .executeTakeFirst();
    await tx
      .insertInto('turns')
      .values({
        conversation_id: conversationId,
        position: (last?.position ?? 0) + 1,
        run_id: run.runId,
        role: turn.role,
        content: JSON.stringify(content),
      })
      .execute();
  }
}
