import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Database } from './schema.js';

export type MessageRow = Selectable<Database['telegram_messages']>;

/** Telegram counts on from the last update for at least a week, and then begins anew at a random number. */
const OFFSET_DAYS = 6;
const STRANGERS_AN_HOUR = 100;

/** What is kept of one bot's chats. */
export class TelegramStore {
  constructor(
    private readonly db: Kysely<Database>,
    readonly bot: string,
  ) {}

  /** From where on to ask; `fresh` false: so long ago that the number may mean nothing any more. */
  async position(): Promise<{ next: number | null; fresh: boolean }> {
    await this.db
      .insertInto('telegram_bots')
      .values({ bot: this.bot, next_update: null, moved_at: null })
      .onConflict((oc) => oc.doNothing())
      .execute();
    const row = await this.db
      .selectFrom('telegram_bots')
      .select([
        'next_update',
        sql<boolean>`coalesce(moved_at > clock_timestamp() - ${OFFSET_DAYS} * interval '1 day', false)`.as('fresh'),
      ])
      .where('bot', '=', this.bot)
      .executeTakeFirstOrThrow();
    return { next: row.next_update, fresh: row.fresh };
  }

  /** Locks the bot until the transaction ends. @returns false when another engine has moved it meanwhile */
  async move(tx: Transaction<Database>, from: number | null, to: number): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('telegram_bots')
      .set({ next_update: to, moved_at: sql`clock_timestamp()` })
      .where('bot', '=', this.bot)
      .where('next_update', 'is not distinct from', from)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /** @returns false when the update was taken up before */
  async note(tx: Transaction<Database>, u: { updateId: number; chatId: string | null; runId: string | null }) {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('telegram_updates')
      .values({ bot: this.bot, update_id: u.updateId, chat_id: u.chatId, run_id: u.runId })
      .onConflict((oc) => oc.doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }

  /** The conversation that the chat is in, with whom it is led. */
  conversation(chatId: string) {
    return this.db
      .selectFrom('telegram_conversations as t')
      .innerJoin('conversations as c', 'c.conversation_id', 't.conversation_id')
      .select(['c.conversation_id', 'c.agent', 'c.space_id', 'c.principal_id'])
      .where('t.bot', '=', this.bot)
      .where('t.chat_id', '=', chatId)
      .where('t.current', '=', true)
      .executeTakeFirst();
  }

  /** The next message in the chat begins a new conversation; the runs of the old one are answered in the chat all the same. */
  async endConversation(tx: Transaction<Database>, chatId: string): Promise<void> {
    await tx
      .updateTable('telegram_conversations')
      .set({ current: false })
      .where('bot', '=', this.bot)
      .where('chat_id', '=', chatId)
      .where('current', '=', true)
      .execute();
  }

  /** Before the conversation itself is made, in the same transaction: its first run is to be answered here already. */
  async beginConversation(tx: Transaction<Database>, chatId: string, conversationId: string): Promise<void> {
    await this.endConversation(tx, chatId);
    await tx
      .insertInto('telegram_conversations')
      .values({ conversation_id: conversationId, bot: this.bot, chat_id: chatId })
      .execute();
  }

  async notify(tx: Transaction<Database>, chatId: string, notice: string): Promise<void> {
    await tx.insertInto('telegram_messages').values({ bot: this.bot, chat_id: chatId, notice }).execute();
  }

  /** Whether to answer an unknown chat: once an hour each, and so many in all. */
  async mayAnswerStranger(tx: Transaction<Database>, chatId: string): Promise<boolean> {
    const { all, here } = await tx
      .selectFrom('telegram_messages')
      .select([
        sql<number>`count(*)::int`.as('all'),
        sql<number>`count(*) filter (where chat_id = ${chatId})::int`.as('here'),
      ])
      .where('bot', '=', this.bot)
      .where('notice', '=', 'stranger')
      .where('created_at', '>', sql<Date>`clock_timestamp() - interval '1 hour'`)
      .executeTakeFirstOrThrow();
    return here === 0 && all < STRANGERS_AN_HOUR;
  }

  /** What can be said now, the oldest first: our own sentences, and the ends of runs that are over. */
  due(limit: number): Promise<MessageRow[]> {
    return this.db
      .selectFrom('telegram_messages as m')
      .leftJoin('runs as r', 'r.run_id', 'm.run_id')
      .selectAll('m')
      .where('m.bot', '=', this.bot)
      .where('m.state', '=', 'waiting')
      .where('m.due_at', '<=', sql<Date>`clock_timestamp()`)
      .where((e) => e.or([e('m.run_id', 'is', null), e('r.completed_at', 'is not', null)]))
      .orderBy('m.message_id')
      .limit(limit)
      .execute();
  }

  /** Claims the next part. @returns false when it is not this one any more */
  async claim(m: MessageRow, part: number, claim: string): Promise<boolean> {
    const { numUpdatedRows } = await this.db
      .updateTable('telegram_messages')
      .set({ state: 'sending', claim, claimed_at: sql`clock_timestamp()` })
      .where('message_id', '=', m.message_id)
      .where('state', '=', 'waiting')
      .where('part', '=', part)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /** Whether the claim still holds, for which it must be younger than `leaseMs`. */
  async holds(claim: string, leaseMs: number): Promise<boolean> {
    const row = await this.db
      .selectFrom('telegram_messages')
      .select('message_id')
      .where('claim', '=', claim)
      .where('state', '=', 'sending')
      .where('claimed_at', '>', sql<Date>`clock_timestamp() - ${leaseMs} * interval '1 millisecond'`)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** What came of the claimed part. `waiting` with `part + 1`: on to the next one; with the same: it certainly was not sent. */
  async settle(
    m: MessageRow,
    claim: string,
    to: { state: MessageRow['state']; part: number; tries?: number; waitMs?: number },
  ): Promise<void> {
    await this.db
      .updateTable('telegram_messages')
      .set({
        state: to.state,
        part: to.part,
        tries: to.tries ?? 0,
        due_at: sql`clock_timestamp() + ${to.waitMs ?? 0} * interval '1 millisecond'`,
      })
      .where('message_id', '=', m.message_id)
      .where('claim', '=', claim)
      .where('state', '=', 'sending')
      .execute();
  }

  /** Of what nothing was claimed: it will not be said. */
  async drop(m: MessageRow, state: 'withheld' | 'sent'): Promise<void> {
    await this.db
      .updateTable('telegram_messages')
      .set({ state })
      .where('message_id', '=', m.message_id)
      .where('state', '=', 'waiting')
      .execute();
  }

  /** Claims whose engine has not said in time what came of them. @returns those that are unknown from now on */
  lapse(afterMs: number): Promise<Pick<MessageRow, 'message_id' | 'chat_id' | 'run_id' | 'part'>[]> {
    return this.db
      .updateTable('telegram_messages')
      .set({ state: 'unknown' })
      .where('bot', '=', this.bot)
      .where('state', '=', 'sending')
      .where('claimed_at', '<', sql<Date>`clock_timestamp() - ${afterMs} * interval '1 millisecond'`)
      .returning(['message_id', 'chat_id', 'run_id', 'part'])
      .execute();
  }
}
