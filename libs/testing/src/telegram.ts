import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type Fields, paramsOf, unexpected } from './telegram-wire.js';

/** What goes wrong with one request, after it was read whole. `happens`: the message is in the chat all the same. */
export type TelegramFault =
  | { with: 'refusal'; code: number; description: string; retryAfter?: number }
  | { with: 'status'; code: number; body?: string; location?: string; happens?: boolean }
  | { with: 'cut'; happens?: boolean }
  | { with: 'silence'; happens?: boolean };

export interface TelegramUpdate {
  update_id: number;
  message?: object;
}

/** Integers stand as they were spelled on the wire. */
export interface SentMessage {
  chatId: string;
  text: string;
}

export type TestTelegram = Awaited<ReturnType<typeof startTelegram>>;

const TOKEN = '4242:test-bot-token_of-a-double-0123456789';

/**
 * A Bot API on this machine that takes nothing but the exact wire format: POST, `/bot<token>/<method>`, JSON in UTF-8, the
 * fields of the method and no others. What it objected to is kept in `complaints`, what took effect in `sent`.
 */
export async function startTelegram(chats: Readonly<Record<string, object>> = {}) {
  const sent: SentMessage[] = [];
  const complaints: string[] = [];
  const requests: { method: string; params: Fields }[] = [];
  const faults = new Map<string, TelegramFault[]>();
  let pending: TelegramUpdate[] = [];
  let lastUpdate = 1_000;
  let conflicts = 0;
  let waiting: { answer: (updates: TelegramUpdate[] | 'conflict') => void } | undefined;

  const say = (response: ServerResponse, status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const ok = (response: ServerResponse, result: unknown) => say(response, 200, { ok: true, result });
  const no = (response: ServerResponse, code: number, description: string, parameters?: object) =>
    say(response, code, { ok: false, error_code: code, description, ...(parameters ? { parameters } : {}) });
  const complain = (response: ServerResponse, what: string) => {
    complaints.push(what);
    no(response, 400, `Bad Request: ${what}`);
  };

  const refused = (method: string, params: Fields): string | undefined => {
    const { chat_id, text } = params;
    if (method === 'getUpdates') return undefined;
    if (chats[String(chat_id)] === undefined) return 'Bad Request: chat not found';
    if (method !== 'sendMessage') return undefined;
    if (String(text).trim() === '') return 'Bad Request: message text is empty';
    return String(text).length > 4096 ? 'Bad Request: message is too long' : undefined;
  };
  const take = (params: Fields) => sent.push({ chatId: String(params['chat_id']), text: String(params['text']) });

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request);
    const [, token, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? '') ?? [];
    if (request.method !== 'POST') return complain(response, `${request.method} in place of POST`);
    if (token === undefined) return no(response, 404, 'Not Found');
    if (token !== TOKEN) return no(response, 401, 'Unauthorized');
    const type = request.headers['content-type'] ?? '';
    if (!/^application\/json(; *charset=utf-8)?$/i.test(type)) return complain(response, `the content type ${type}`);
    const params = paramsOf(body);
    const what = typeof params === 'string' ? params : unexpected(method, params);
    if (typeof params === 'string' || what !== undefined) return complain(response, `${method}: ${what}`);
    requests.push({ method, params });

    const fault = faults.get(method)?.shift();
    if (fault?.with === 'refusal')
      return no(
        response,
        fault.code,
        fault.description,
        fault.retryAfter === undefined ? undefined : { retry_after: fault.retryAfter },
      );
    const why = refused(method, params);
    if (why !== undefined) return no(response, 400, why);
    if (fault !== undefined) {
      if (fault.happens && method === 'sendMessage') take(params);
      if (fault.with === 'cut') return response.destroy();
      if (fault.with === 'silence') return;
      const headers = fault.location === undefined ? {} : { location: fault.location };
      return response.writeHead(fault.code, headers).end(fault.body ?? '<html>not JSON</html>');
    }
    if (method === 'getUpdates') return updates(request, response, params);
    if (method === 'getChat') return ok(response, chats[String(params['chat_id'])]);
    take(params);
    ok(response, { message_id: sent.length, date: 1, chat: chats[String(params['chat_id'])], text: params['text'] });
  };

  /** Held until there is something, as Telegram does it; whoever asks meanwhile takes the place of the one before. */
  const updates = (request: IncomingMessage, response: ServerResponse, params: Fields) => {
    if (waiting) conflicts += 1;
    waiting?.answer('conflict');
    const offset = Number(params['offset'] ?? 0);
    pending = pending.filter((u) => u.update_id >= offset);
    if (pending.length > 0) return ok(response, pending.slice(0, Number(params['limit'])));
    const mine = {
      answer: (found: TelegramUpdate[] | 'conflict') => {
        clearTimeout(timer);
        if (waiting === mine) waiting = undefined;
        if (found !== 'conflict') return ok(response, found);
        no(
          response,
          409,
          'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
        );
      },
    };
    const timer = setTimeout(() => mine.answer([]), Number(params['timeout']) * 1_000);
    waiting = mine;
    request.socket.once('close', () => {
      clearTimeout(timer);
      if (waiting === mine) waiting = undefined;
    });
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => complaints.push(String(error)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: TOKEN,
    sent,
    complaints,
    requests,
    /** What the chat was told, in order. */
    told: (chatId: string) => sent.filter((m) => m.chatId === chatId).map((m) => m.text),
    /** Makes the next requests of a method fail, each in its way. */
    fail: (method: 'sendMessage' | 'getUpdates' | 'getChat', ...next: TelegramFault[]) => faults.set(method, next),
    /** A message of a person in a chat. @returns the id of the update, which `again` may deliver once more. */
    write: (chatId: string, message: object, id = lastUpdate + 1): number => {
      lastUpdate = id;
      const chat = chats[chatId] ?? { type: 'private', first_name: 'Stranger' };
      const from = { id: 7, is_bot: false, first_name: 'Somebody' };
      const whole = { message_id: id, date: 1, chat: { id: Number(chatId), ...chat }, from, ...message };
      pending.push({ update_id: id, message: whole });
      waiting?.answer([...pending]);
      return id;
    },
    /** How often somebody asked for updates while somebody else did. */
    conflicts: () => conflicts,
    /** Updates that nobody has confirmed by asking for later ones. */
    unconfirmed: () => pending.map((u) => u.update_id),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
