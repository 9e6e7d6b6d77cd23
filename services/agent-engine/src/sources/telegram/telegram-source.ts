import { setTimeout as delay } from 'node:timers/promises';
import { isInfrastructureFault } from '@holdpoint/runtime';
import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { readUpdates, type Update } from '../../domain/telegram/update.js';
import type { TelegramStore } from '../../store/telegram.js';
import type { Answer, BotApi } from '../../telegram/bot-api.js';
import type { Answers } from './answers.js';
import { type Intake, Superseded } from './intake.js';
import { Leadership } from './leadership.js';

const UPDATES = 50;
const POLL_S = 25;
/** What an answer may take beyond the time that it is held for. */
const POLL_GRACE_MS = 10_000;
const ANSWER_POLL_MS = 300;
const TRY_TO_LEAD_MS = 1_000;
const MOST_TRIES = 5;
const HOUR_MS = 3_600_000;
const [SHORTEST_MS, LONGEST_MS, TOKEN_TROUBLE_MS] = [500, 15_000, 60_000];

/**
 * Asks Telegram for what people write, and says there what came of it. Of all engines one does this for a bot, by an advisory
 * lock; when it dies or freezes another takes over. Telegram being away disturbs nothing else.
 */
export class TelegramSource implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #log = new Logger('Telegram');
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #said = '';

  constructor(
    private readonly databaseUrl: string,
    private readonly api: BotApi,
    private readonly store: TelegramStore,
    private readonly intake: Intake,
    private readonly answers: Answers,
  ) {}

  onApplicationBootstrap(): void {
    this.#running = this.#run();
  }

  async onModuleDestroy(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let leadership: Leadership | undefined;
      try {
        leadership = await Leadership.open(this.databaseUrl, `telegram.${this.store.bot}`);
        await this.#session(leadership, AbortSignal.any([signal, leadership.lost]));
      } catch (error) {
        this.#log.warn(`the bot starts over: ${reasonOf(error)}`);
      }
      await leadership?.close();
      await pause(SHORTEST_MS, signal);
    }
  }

  async #session(leadership: Leadership, over: AbortSignal): Promise<void> {
    while (!over.aborted && !(await leadership.lead())) await pause(TRY_TO_LEAD_MS, over);
    const control = new AbortController();
    const signal = AbortSignal.any([over, control.signal]);
    // when either ends, both do
    const both = [this.#listen(signal), this.#answer(signal)].map((loop) => loop.finally(() => control.abort()));
    const failed = (await Promise.allSettled(both)).find((s) => s.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async #listen(signal: AbortSignal): Promise<void> {
    let wait = SHORTEST_MS;
    while (!signal.aborted) {
      const { next, fresh } = await this.store.position();
      const answer = await this.api.call(
        'getUpdates',
        {
          ...(next === null || !fresh ? {} : { offset: next }),
          limit: UPDATES,
          timeout: POLL_S,
          allowed_updates: ['message'],
        },
        { signal: AbortSignal.any([signal, AbortSignal.timeout(POLL_S * 1_000 + POLL_GRACE_MS)]) },
      );
      if (signal.aborted) return;
      const updates = answer.kind === 'ok' ? readUpdates(answer.result) : undefined;
      if (updates) {
        this.#say('');
        wait = SHORTEST_MS;
        await this.#take(updates, next, signal);
      } else {
        const { text, waitMs } = trouble(answer);
        this.#say(text);
        await pause(waitMs ?? wait, signal);
        wait = Math.min(2 * wait, LONGEST_MS);
      }
    }
  }

  async #take(updates: Update[], next: number | null, signal: AbortSignal): Promise<void> {
    let from = next;
    for (const update of updates) {
      for (let tries = 1; ; tries++) {
        if (signal.aborted) return;
        try {
          await (tries > MOST_TRIES ? this.intake.giveUp(update, from) : this.intake.take(update, from));
          break;
        } catch (error) {
          if (error instanceof Superseded || isInfrastructureFault(error) || tries > MOST_TRIES) throw error;
          this.#log.error(
            `update ${update.id} could not be taken up (try ${tries} of ${MOST_TRIES}): ${reasonOf(error)}`,
          );
          await pause(SHORTEST_MS, signal);
        }
      }
      from = update.id + 1;
    }
  }

  async #answer(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) if (!(await this.answers.sweep(signal))) await pause(ANSWER_POLL_MS, signal);
  }

  /** A trouble is said once, and once more that it is over. */
  #say(text: string): void {
    if (text === this.#said) return;
    if (text === '') this.#log.log('Telegram answers again');
    else this.#log.warn(text);
    this.#said = text;
  }
}

function trouble(answer: Answer): { text: string; waitMs?: number } {
  if (answer.kind === 'ok') return { text: 'Telegram answered something else than updates' };
  if (answer.kind !== 'refused') return { text: `no updates from Telegram: ${answer.why}` };
  const { code, description, retryAfterS } = answer;
  const said = `Telegram gives no updates (${code}: ${description})`;
  if (code === 401 || code === 404)
    return {
      text: `${said}: set TELEGRAM_BOT_TOKEN to a token that BotFather says is valid, and restart`,
      waitMs: TOKEN_TROUBLE_MS,
    };
  if (code === 409)
    return {
      text: `${said}: another program asks with the same token, or the bot has a webhook. Give each system a bot of its own`,
    };
  return { text: said, ...(code === 429 ? { waitMs: Math.min((retryAfterS ?? 60) * 1_000, HOUR_MS) } : {}) };
}

const reasonOf = (error: unknown): string =>
  error instanceof Superseded
    ? 'another engine has taken over'
    : error instanceof Error
      ? error.message
      : String(error);

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
