import { z } from 'zod';

/** The Bot API's own limit, counted in UTF-16 units: never more characters than it counts itself. */
export const MAX_TEXT = 4_096;

const loopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);

/** The token is part of every address, so it never crosses a network in the clear. */
const apiUrl = z.url({ protocol: /^https?$/ }).refine((text) => {
  const u = new URL(text);
  const bare = u.username === '' && u.password === '' && u.search === '' && u.hash === '';
  return bare && (u.protocol === 'https:' || loopback(u.hostname));
});

export const chatName = /^@[A-Za-z][A-Za-z0-9_]{3,31}$/;
const oneChat = String.raw`(?:-?[1-9]\d{0,18}|@[A-Za-z][A-Za-z0-9_]{3,31})`;

export const telegramConfig = {
  /** Without it there is neither the tool nor the source. */
  TELEGRAM_BOT_TOKEN: z
    .string()
    .regex(/^[1-9]\d{0,19}:[A-Za-z0-9_-]{20,100}$/)
    .optional()
    .describe("a bot's token as BotFather gives it out, digits, a colon and a secret"),
  TELEGRAM_API_URL: apiUrl
    .default('https://api.telegram.org')
    .describe(
      'the https:// URL of a Bot API server (http:// on a loopback address alone), without user, query or fragment',
    ),
  /** Where the tool may send to; everywhere unless given. */
  TELEGRAM_CHATS: z
    .string()
    .regex(new RegExp(`^${oneChat}(?: *, *${oneChat})*$`))
    .optional()
    .describe('chat ids and @names of channels, separated by commas'),
  /** How long a request may take; a message that was handed over and not answered for by then has an unknown end. */
  TELEGRAM_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(100)
    .max(600_000)
    .default(30_000)
    .describe('a number of milliseconds from 100 to 600000'),
};
export type TelegramConfig = z.infer<z.ZodObject<typeof telegramConfig>>;

/** The bot's own id: what stands before the colon is no secret. */
export const botOf = (token: string): string => token.slice(0, token.indexOf(':'));
