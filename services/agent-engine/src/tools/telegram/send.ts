import { type CallPreview, printable } from '@holdpoint/contracts';
import type { Answer, BotApi } from '../../telegram/bot-api.js';
import { messageOf } from '../../telegram/message.js';
import { didNotHappen, done, mayNotBegin, type ToolContext, type ToolOutcome, unknown } from '../tool.js';

/** A preview does not wait longer for the title of a chat. */
const TITLE_MS = 5_000;

export interface Message {
  chat_id: number | bigint | string;
  text: string;
}

/** Sends it once and says truthfully what is known: certain is what was never written, and what Telegram itself refused. */
export async function send(api: BotApi, message: Message, ctx: ToolContext): Promise<ToolOutcome> {
  const answer = await api.call('sendMessage', messageOf(message.chat_id, message.text), {
    signal: ctx.signal,
    mayNotBegin: () => mayNotBegin(ctx),
  });
  switch (answer.kind) {
    case 'ok': {
      const id = field(answer.result, 'message_id');
      return done(typeof id === 'number' ? `Sent as message ${id}.` : 'Sent.');
    }
    case 'refused':
      return didNotHappen(refusal(answer));
    case 'not-sent':
      return didNotHappen(answer.why);
    case 'unknown':
      return unknown(answer.why);
  }
}

function refusal({ code, description, retryAfterS }: Extract<Answer, { kind: 'refused' }>): string {
  const said = `Telegram refused it, so nothing was sent: ${description}.`;
  if (code === 401 || code === 404) return `${said} Whoever runs this system has to check TELEGRAM_BOT_TOKEN.`;
  if (code === 403) return `${said} The bot is not in that chat, or was blocked there; a person has to let it in.`;
  if (code !== 429) return `${said} Correct chat_id or text and propose it anew.`;
  return `${said} Too much was sent. Propose it anew after ${retryAfterS ?? 60} seconds.`;
}

/** The message as it will stand in the chat, which is asked for its title. */
export async function preview(api: BotApi, { chat_id, text }: Message, signal: AbortSignal): Promise<CallPreview> {
  const answer = await api.call(
    'getChat',
    { chat_id },
    { signal: AbortSignal.any([signal, AbortSignal.timeout(TITLE_MS)]) },
  );
  const title = answer.kind === 'ok' ? titleOf(answer.result) : '';
  if (title !== '') return { kind: 'message', to: `${printable(title)} (${chat_id})`, text };
  const why = answer.kind === 'refused' ? answer.description : 'it gave no answer';
  return { kind: 'message', to: String(chat_id), text, note: `Telegram did not tell which chat this is: ${why}.` };
}

/** A group or a channel has a title, a person a name. */
function titleOf(chat: unknown): string {
  const part = (name: string) => {
    const value = field(chat, name);
    return typeof value === 'string' ? value : '';
  };
  const name = part('title') || `${part('first_name')} ${part('last_name')}`.trim();
  const user = part('username');
  return `${name}${user === '' ? '' : ` @${user}`}`.trim().slice(0, 200);
}

const field = (value: unknown, name: string): unknown =>
  value !== null && typeof value === 'object' ? Reflect.get(value, name) : undefined;
