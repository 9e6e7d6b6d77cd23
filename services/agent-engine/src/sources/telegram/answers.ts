import { newId } from '@holdpoint/eventing';
import { Keyring } from '@holdpoint/runtime';
import { Logger } from '@nestjs/common';
import { split } from '../../domain/telegram/split.js';
import { runView } from '../../http/view.js';
import type { Runs } from '../../store/runs.js';
import type { MessageRow, TelegramStore } from '../../store/telegram.js';
import type { Answer, BotApi } from '../../telegram/bot-api.js';
import { messageOf } from '../../telegram/message.js';
import { MAX_TEXT } from '../../telegram/settings.js';
import type { Chats } from './chats.js';
import { endOf, noticeText } from './notices.js';

const BATCH = 50;
const MOST_PARTS = 10;
/** How long a claim may wait before its request begins; the request's own time-out comes on top. */
const LEASE_MS = 15_000;
const DAY_MS = 24 * 3_600_000;
const TOKEN_TROUBLE_MS = 60_000;

/**
 * Says in a chat what came of its runs, and our own sentences. Each part is claimed before it is sent and sent at most once:
 * again only if it is certain that it was not. What nobody can tell is listed in the log and never repeated.
 */
export class Answers {
  readonly #log = new Logger('Telegram');

  constructor(
    private readonly store: TelegramStore,
    private readonly api: BotApi,
    private readonly runs: Runs,
    private readonly keyring: Keyring,
    private readonly chats: Chats,
    private readonly timeoutMs: number,
  ) {}

  /** Says what is due, chat by chat in its order. @returns whether anything was */
  async sweep(signal: AbortSignal): Promise<boolean> {
    for (const m of await this.store.lapse(LEASE_MS + this.timeoutMs + 1_000))
      this.#unknown(m, 'the engine that sent it was lost');
    const due = await this.store.due(BATCH);
    const each = [...Map.groupBy(due, (m) => m.chat_id).values()].map(async (messages) => {
      for (const m of messages) if (signal.aborted || !(await this.#say(m, signal))) return;
    });
    // one chat's trouble holds up no other
    const failed = (await Promise.allSettled(each)).find((s) => s.status === 'rejected');
    if (failed) throw failed.reason;
    return due.length > 0;
  }

  /** @returns whether the chat may be told the next thing: this one is at its end. */
  async #say(m: MessageRow, signal: AbortSignal): Promise<boolean> {
    const parts = await this.#parts(m);
    if (typeof parts === 'string') {
      this.#log.warn(`chat ${m.chat_id} is not told ${subject(m)}: ${parts}`);
      await this.store.drop(m, 'withheld');
      return true;
    }
    for (let part = m.part; part < parts.length; part++) {
      if (signal.aborted) return false;
      const claim = newId();
      if (!(await this.store.claim(m, part, claim))) return false;
      const answer = await this.api.call('sendMessage', messageOf(spelled(m.chat_id), parts[part] as string), {
        signal: AbortSignal.timeout(this.timeoutMs),
        mayNotBegin: async () => ((await this.store.holds(claim, LEASE_MS)) ? undefined : 'It was not begun in time.'),
      });
      const last = part === parts.length - 1;
      if (answer.kind === 'ok') await this.store.settle(m, claim, { state: last ? 'sent' : 'waiting', part: part + 1 });
      else return this.#notSent(m, part, claim, answer);
    }
    if (m.part >= parts.length) await this.store.drop(m, 'sent');
    return true;
  }

  async #notSent(m: MessageRow, part: number, claim: string, answer: Exclude<Answer, { kind: 'ok' }>) {
    if (answer.kind === 'unknown') {
      await this.store.settle(m, claim, { state: 'unknown', part });
      this.#unknown({ ...m, part }, answer.why);
      return true;
    }
    const tries = m.tries + 1;
    const waitMs =
      answer.kind === 'not-sent'
        ? Math.min(1_000 * 2 ** tries, 60_000)
        : answer.code === 429
          ? Math.min((answer.retryAfterS ?? 60) * 1_000, DAY_MS)
          : answer.code === 401 || answer.code === 404
            ? TOKEN_TROUBLE_MS
            : undefined;
    const why = answer.kind === 'not-sent' ? answer.why : `Telegram refused it: ${answer.description}`;
    if (waitMs === undefined || Date.now() - m.created_at.getTime() > DAY_MS) {
      await this.store.settle(m, claim, { state: 'refused', part });
      this.#log.warn(`chat ${m.chat_id} was not told ${subject(m)}: ${why}`);
      return true;
    }
    if (tries === 1) this.#log.warn(`chat ${m.chat_id} is told ${subject(m)} later: ${why}`);
    await this.store.settle(m, claim, { state: 'waiting', part, tries, waitMs });
    return false;
  }

  /** @returns what to say, or why it is not to be said: a chat that speaks for nobody any more is told nothing of a space. */
  async #parts(m: MessageRow): Promise<string[] | string> {
    const chat = this.chats.find(m.chat_id);
    const language = chat?.agent.language ?? 'en';
    if (m.run_id === null)
      return [noticeText(language, m.notice ?? '', { chatId: m.chat_id, agent: chat?.agent.name ?? '' })];
    const run = await this.runs.find(m.run_id);
    if (!run) return 'there is no such run';
    if (chat?.agent.name !== run.agent || chat.agent.space !== run.space_id)
      return 'holdpoint.yaml names this chat no more for its agent';
    if (chat.person !== run.principal_id) return 'the chat speaks for another person by now';
    if (!(await this.chats.mayStart(chat))) return 'the person for whom it speaks is no member of the space';
    const words = endOf(language);
    const { result } = await runView(run, this.keyring);
    const parts = split(result ?? '', MAX_TEXT, MOST_PARTS, words.rest(run.conversation_id));
    return parts.length === 0 ? [words.nothing] : parts;
  }

  #unknown(m: Pick<MessageRow, 'message_id' | 'chat_id' | 'run_id' | 'part'>, why: string): void {
    this.#log.error(
      `nobody can tell whether chat ${m.chat_id} was told part ${m.part + 1} of ${subject(m)} (message ${m.message_id}); it is not repeated: ${why}`,
    );
  }
}

const subject = (m: Pick<MessageRow, 'run_id'>): string =>
  m.run_id === null ? 'a notice' : `the end of run ${m.run_id}`;

const spelled = (chatId: string): number | bigint =>
  Number.isSafeInteger(Number(chatId)) ? Number(chatId) : BigInt(chatId);
