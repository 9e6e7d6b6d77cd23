import { z } from 'zod';
import { BotApi } from '../../telegram/bot-api.js';
import { chatName, MAX_TEXT, type TelegramConfig } from '../../telegram/settings.js';
import { exactInteger } from '../exact-integer.js';
import { defineAction, type Tool } from '../tool.js';
import { preview, send } from './send.js';

const chatId = z.union(
  [exactInteger({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), z.string().regex(chatName)],
  "expected a chat's id, an integer in plain digits, or the @name of a public channel",
);

/** Names of channels are the same in either case. */
const keyOf = (chat: number | bigint | string) => String(chat).toLowerCase();

/** @returns whether the operator allows the chat; without a list, any. */
function allowed(list: string | undefined): (chat: number | bigint | string) => boolean {
  if (list === undefined) return () => true;
  const chats = new Set(list.split(',').map((c) => keyOf(c.trim())));
  return (chat) => chats.has(keyOf(chat));
}

/**
 * Messages by a Telegram bot, as plain text: no mark-up is read out of it and no preview of a link is fetched.
 *
 * `send_message` is at most once: the Bot API has no key that it would recognise a repetition by.
 *
 * @param config with TELEGRAM_BOT_TOKEN
 */
export function telegramTool(config: TelegramConfig & { TELEGRAM_BOT_TOKEN: string }): Tool {
  const api = new BotApi(config.TELEGRAM_API_URL, config.TELEGRAM_BOT_TOKEN);
  const mayWriteTo = allowed(config.TELEGRAM_CHATS);
  const schema = z.strictObject({
    action: z.literal('send_message'),
    chat_id: chatId.refine(mayWriteTo, 'expected a chat that the operator allows (TELEGRAM_CHATS)'),
    text: z
      .string()
      .min(1)
      .max(MAX_TEXT)
      .refine((t) => t.trim() !== '', 'expected a text that is not blank'),
  });
  return {
    name: 'Telegram',
    description: 'Messages by a Telegram bot, plain text.',
    actions: [
      defineAction({
        name: 'send_message',
        description: `Sends one message. chat_id is the id of a chat that the bot is in, or the @name of a public channel; text is plain text of up to ${MAX_TEXT} characters.`,
        hint: 'write',
        scope: 'user',
        executionClass: 'at-most-once',
        schema,
        timeoutMs: config.TELEGRAM_TIMEOUT_MS,
        run: ({ chat_id, text }, ctx) => send(api, { chat_id, text }, ctx),
        preview: ({ chat_id, text }, ctx) => preview(api, { chat_id, text }, ctx.signal),
        secretFields: ['text'],
      }),
    ],
  };
}
