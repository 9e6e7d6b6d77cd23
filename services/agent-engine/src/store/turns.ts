import { MAX_CONTENT_BYTES, type Sealed } from '@holdpoint/contracts';
import { Keyring } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import type { Turn } from '../domain/conversation.js';
import type { Database } from './schema.js';

/** A turn that is ready to be stored. */
export interface SealedTurn {
  role: Turn['role'];
  /** As many boxes as it takes: a round of calls may answer more than one box holds. */
  content: Sealed[];
}

/** The conversation as it was said, in order. Content is sealed under the conversation's key at all times. */
export class Turns {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly keyring: Keyring,
  ) {}

  async list(
    spaceId: string,
    conversationId: string,
    { after = 0, runId }: { after?: number; runId?: string } = {},
  ): Promise<{ position: number; runId: string; at: Date; turn: Turn }[]> {
    let query = this.db
      .selectFrom('turns')
      .selectAll()
      .where('conversation_id', '=', conversationId)
      .where('position', '>', after);
    if (runId !== undefined) query = query.where('run_id', '=', runId);
    const rows = await query.orderBy('position').execute();
    return Promise.all(
      rows.map(async (r) => {
        const place = { spaceId, entityId: conversationId, field: 'turn' as const };
        const boxes = [JSON.parse(r.content) as Sealed | Sealed[]].flat();
        const parts = await Promise.all(boxes.map((box) => this.keyring.open(box, place)));
        const turn = JSON.parse(Buffer.concat(parts).toString()) as Turn;
        return { position: r.position, runId: r.run_id, at: r.created_at, turn };
      }),
    );
  }

  /** To be done before a transaction begins: sealing may need a connection of its own. */
  async seal(place: { spaceId: string; conversationId: string }, turn: Turn): Promise<SealedTurn> {
    const { spaceId, conversationId } = place;
    const target = { conversationId, spaceId, entityId: conversationId, field: 'turn' as const };
    const bytes = Buffer.from(JSON.stringify(turn));
    const content: Sealed[] = [];
    for (let at = 0; at < bytes.length; at += MAX_CONTENT_BYTES)
      content.push(await this.keyring.seal(target, bytes.subarray(at, at + MAX_CONTENT_BYTES)));
    return { role: turn.role, content };
  }

  /**
   * Only the one running run of a conversation appends; a lost one that comes back is stopped by the primary key.
   * @returns the turn's position
   */
  async append(
    tx: Transaction<Database>,
    { conversationId, runId }: { conversationId: string; runId: string },
    { role, content }: SealedTurn,
  ): Promise<number> {
    const last = await tx
      .selectFrom('turns')
      .select((e) => e.fn.max('position').as('position'))
      .where('conversation_id', '=', conversationId)
      .executeTakeFirst();
    const position = (last?.position ?? 0) + 1;
    await tx
      .insertInto('turns')
      .values({
        conversation_id: conversationId,
        position,
        run_id: runId,
        role,
        content: JSON.stringify(content),
      })
      .execute();
    return position;
  }
}
