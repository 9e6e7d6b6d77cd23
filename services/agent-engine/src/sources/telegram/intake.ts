import { startRunRequest } from '@holdpoint/contracts';
import type { Kysely, Transaction } from 'kysely';
import type { Update } from '../../domain/telegram/update.js';
import type { StartRun } from '../../run/start-run.js';
import type { Database } from '../../store/schema.js';
import type { TelegramStore } from '../../store/telegram.js';
import type { Chat, Chats } from './chats.js';
import type { Notice } from './notices.js';

/** Another engine takes up the updates of this bot. */
export class Superseded extends Error {}

type Prepared = Awaited<ReturnType<StartRun['prepare']>>;
interface Reaction {
  run?: Prepared;
  notice?: Notice;
  /** The conversation that the chat is in ends with this update. */
  anew?: boolean;
}

/**
 * Takes up updates one by one. What comes of an update is one transaction with the note that it was taken up and with the
 * position from which Telegram is asked next: at least once from there is exactly once here.
 */
export class Intake {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly store: TelegramStore,
    private readonly startRun: StartRun,
    private readonly chats: Chats,
  ) {}

  /**
   * @param from where the bot stood before
   * @throws Superseded when it stands elsewhere now; infrastructure faults: then nothing happened
   */
  async take(update: Update, from: number | null): Promise<void> {
    const reaction = await this.#react(update);
    await this.#commit(update, from, reaction);
    if (reaction.run) this.startRun.wake();
  }

  /** Goes past an update with which something is wrong here, and says so in its chat. */
  giveUp(update: Update, from: number | null): Promise<void> {
    const known = update.chatId !== null && this.chats.find(update.chatId) !== undefined;
    return this.#commit(update, from, known ? { notice: 'failed' } : {});
  }

  async #react({ chatId, said }: Update): Promise<Reaction> {
    if (chatId === null || said.kind === 'nothing') return {};
    const chat = this.chats.find(chatId);
    if (!chat) return { notice: 'stranger' };
    if (!(await this.chats.mayStart(chat))) return { notice: 'not-member' };
    switch (said.kind) {
      case 'other':
        return { notice: 'text-only' };
      case 'start':
        return { notice: 'welcome' };
      case 'new':
        return said.text === undefined
          ? { notice: 'new-conversation', anew: true }
          : this.#ask(chatId, chat, said.text, true);
      case 'text':
        return this.#ask(chatId, chat, said.text, false);
    }
  }

  async #ask(chatId: string, chat: Chat, text: string, anew: boolean): Promise<Reaction> {
    const prompt = startRunRequest.shape.prompt.safeParse(text);
    if (!prompt.success) return { notice: 'too-long', anew };
    const { agent, person } = chat;
    const current = anew ? undefined : await this.store.conversation(chatId);
    // whoever has the chat now does not go on with what it was about with somebody else
    const same = current?.agent === agent.name && current.space_id === agent.space && current.principal_id === person;
    const run = await this.startRun.prepare({
      agent,
      principal: { kind: 'person', id: person },
      source: 'telegram',
      prompt: prompt.data,
      conversationId: same ? current.conversation_id : undefined,
    });
    return { run };
  }

  async #commit({ id, chatId }: Update, from: number | null, { run, notice, anew }: Reaction): Promise<void> {
    await this.db.transaction().execute(async (tx) => {
      if (!(await this.store.move(tx, from, id + 1))) throw new Superseded();
      if (!(await this.store.note(tx, { updateId: id, chatId, runId: run?.runId ?? null }))) return;
      if (chatId === null) return;
      if (anew) await this.store.endConversation(tx, chatId);
      if (run) await this.#queue(tx, chatId, run);
      if (notice && (notice !== 'stranger' || (await this.store.mayAnswerStranger(tx, chatId))))
        await this.store.notify(tx, chatId, notice);
    });
  }

  async #queue(tx: Transaction<Database>, chatId: string, run: Prepared): Promise<void> {
    if (run.order.conversationId === undefined) await this.store.beginConversation(tx, chatId, run.conversationId);
    await this.startRun.queue(tx, run);
  }
}
