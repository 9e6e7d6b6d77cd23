import { createServer } from 'node:net';
import { startTelegram, type TestTelegram } from '@holdpoint/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseArguments } from '../../src/domain/arguments/parse.js';
import { telegramConfig } from '../../src/telegram/settings.js';
import { ToolRegistry } from '../../src/tools/registry.js';
import { telegramTool } from '../../src/tools/telegram/index.js';
import type { ToolContext } from '../../src/tools/tool.js';
import { deadUrl } from './smtp.js';

const BEYOND = '-9007199254740993';

describe('Telegram.send_message', () => {
  let telegram: TestTelegram;
  beforeAll(async () => {
    telegram = await startTelegram({
      '100': { type: 'private', first_name: 'Ann', last_name: 'Other', username: 'ann' },
      [BEYOND]: { type: 'supergroup', title: 'Night \u202eshift' },
      '@acme_news': { type: 'channel', title: 'Acme' },
    });
  });
  afterAll(() => telegram.stop());
  beforeEach(() => {
    telegram.sent.length = 0;
    telegram.complaints.length = 0;
  });

  const toolOf = (more: { url?: string; chats?: string; token?: string } = {}) =>
    telegramTool({
      TELEGRAM_API_URL: more.url ?? telegram.url,
      TELEGRAM_BOT_TOKEN: more.token ?? telegram.token,
      TELEGRAM_TIMEOUT_MS: 30_000,
      TELEGRAM_CHATS: more.chats,
    });
  const resolved = (json: string, more: Parameters<typeof toolOf>[0] = {}) => {
    const tool = toolOf(more);
    return new ToolRegistry([tool]).resolve(tool, parseArguments(json));
  };
  /** Through the registry, as the engine does it: text in, outcome out. */
  const call = (json: string, more: Parameters<typeof toolOf>[0] = {}, ctx: Partial<ToolContext> = {}) => {
    const found = resolved(json, more);
    if (!found.ok) throw new Error(found.message);
    const whole = { callId: '01jcall', spaceId: 'acme', attempt: 1, signal: AbortSignal.timeout(20_000), ...ctx };
    return found.action.run(found.args, whole);
  };
  const message = (text = 'Hello Ann.', chat = '100') =>
    `{"action":"send_message","chat_id":${chat},"text":${JSON.stringify(text)}}`;

  it.each([
    ['100', 'Hello Ann.'],
    ['100', 'Grüße *not bold* <b>not either</b> https://example.test \u{1f378}\nsecond line'],
    ['100', 'ü'.repeat(4096)],
    [BEYOND, 'to an id that is no double'],
    ['"@acme_news"', 'to a channel'],
  ])('to %s: the very text, once, in the exact format', async (chat, text) => {
    expect(await call(message(text, chat))).toEqual({ kind: 'done', result: 'Sent as message 1.' });
    expect(telegram.sent).toEqual([{ chatId: chat.replaceAll('"', ''), text }]);
    expect(telegram.complaints).toEqual([]);
  });

  it.each([
    ['blank', message('  \n ')],
    ['too long', message('a'.repeat(4097))],
    ['an id in quotes', message('x', '"100"')],
    ['an id with a fraction', message('x', '1e2')],
    ['a mode of mark-up', '{"action":"send_message","chat_id":100,"text":"x","parse_mode":"HTML"}'],
  ])('refuses by its schema: %s', (_, json) => {
    expect(resolved(json)).toMatchObject({ ok: false, code: 'arguments.schema' });
  });

  it('writes to no other chats than the operator allows, if there is a list', async () => {
    const chats = `${BEYOND}, @Acme_News`;
    expect(resolved(message(), { chats })).toMatchObject({
      ok: false,
      message: expect.stringContaining('TELEGRAM_CHATS'),
    });
    expect(await call(message('x', BEYOND), { chats })).toMatchObject({ kind: 'done' });
    expect(await call(message('x', '"@acme_news"'), { chats })).toMatchObject({ kind: 'done' });
  });

  it.each([
    [400, 'Bad Request: chat not found', 'chat not found'],
    [401, 'Unauthorized', 'TELEGRAM_BOT_TOKEN'],
    [403, 'Forbidden: bot was blocked by the user', 'a person has to let it in'],
    [404, 'Not Found', 'TELEGRAM_BOT_TOKEN'],
    [429, 'Too Many Requests: retry after 17', 'after 17 seconds'],
  ])('did not happen when Telegram itself refuses it: %i', async (code, description, told) => {
    telegram.fail('sendMessage', { with: 'refusal', code, description, retryAfter: 17 });
    expect(await call(message())).toEqual({ kind: 'did-not-happen', error: expect.stringContaining(told) });
    expect(telegram.sent).toEqual([]);
  });

  it.each([
    ['500', { with: 'status', code: 500, body: '{"ok":false,"error_code":500,"description":"Internal"}' }],
    ['a gateway in between', { with: 'status', code: 502 }],
    ['a refusal that is not in JSON', { with: 'status', code: 403 }],
    ['a status that contradicts the body', { with: 'status', code: 200, body: '{"ok":false,"error_code":400}' }],
    ['garbage', { with: 'status', code: 200, body: '{"ok":true' }],
    ['a redirect', { with: 'status', code: 307, location: '/elsewhere' }],
    ['a connection that is cut', { with: 'cut' }],
    ['a time-out', { with: 'silence' }],
  ] as const)('is unknown, and sent once, after %s', async (_, fault) => {
    telegram.fail('sendMessage', { ...fault, happens: true });
    const before = telegram.requests.length;
    const outcome = await call(message(), {}, { signal: AbortSignal.timeout(400) });
    expect(outcome).toMatchObject({ kind: 'unknown' });
    expect(telegram.requests).toHaveLength(before + 1);
    expect(telegram.sent).toHaveLength(1);
  });

  it('did not happen when nobody listens, the name is unknown or TLS fails', async () => {
    const plain = createServer((s) => s.on('error', () => undefined).end('no TLS here\r\n')).listen(0, '127.0.0.1');
    await new Promise((resolve) => plain.once('listening', resolve));
    const { port } = plain.address() as { port: number };
    const dead = (await deadUrl()).replace('smtp:', 'http:');
    for (const url of [dead, 'https://nowhere.invalid', `https://127.0.0.1:${port}`])
      expect(await call(message(), { url })).toEqual({
        kind: 'did-not-happen',
        error: 'Telegram could not be reached, so nothing was sent.',
      });
    plain.close();
  });

  it('asks for its lease when the connection stands, and writes nothing without it', async () => {
    const before = telegram.requests.length;
    for (const stillLeased of [() => false, () => Promise.reject(new Error('the database is away'))])
      expect(await call(message(), {}, { stillLeased })).toEqual({
        kind: 'did-not-happen',
        error: expect.stringContaining('not begun in time'),
      });
    expect(await call(message(), {}, { signal: AbortSignal.abort() })).toMatchObject({ kind: 'did-not-happen' });
    expect(telegram.requests).toHaveLength(before);
  });

  it('never shows the token, also when a server repeats it', async () => {
    const secret = telegram.token.split(':')[1] as string;
    telegram.fail('sendMessage', {
      with: 'refusal',
      code: 400,
      description: `POST /bot${telegram.token}/sendMessage ${secret}`,
    });
    const said = [
      await call(message()),
      await call(message(), { token: `9:${secret}x` }),
      await call(message(), { url: (await deadUrl()).replace('smtp:', 'http:') }),
    ];
    expect(JSON.stringify(said)).not.toContain(secret);
  });

  it('previews the message with the title of its chat, and says when Telegram does not tell', async () => {
    const preview = async (chat: string) => {
      const found = resolved(message('Hello', chat));
      if (!found.ok) throw new Error(found.message);
      return found.action.preview?.(found.args, { callId: 'c', spaceId: 'acme', signal: AbortSignal.timeout(5_000) });
    };
    expect(await preview('100')).toEqual({ kind: 'message', to: 'Ann Other @ann (100)', text: 'Hello' });
    expect(await preview(BEYOND)).toEqual({ kind: 'message', to: `Night \\u{202e}shift (${BEYOND})`, text: 'Hello' });
    expect(await preview('5')).toEqual({
      kind: 'message',
      to: '5',
      text: 'Hello',
      note: expect.stringContaining('chat not found'),
    });
    expect(telegram.sent).toEqual([]);
    expect(telegram.complaints).toEqual([]);
  });

  it('has settings that say what they must be', () => {
    const { TELEGRAM_API_URL: url, TELEGRAM_CHATS: chats, TELEGRAM_BOT_TOKEN: token } = telegramConfig;
    for (const good of ['https://api.example.test/telegram', 'http://127.0.0.1:8081', 'http://[::1]:1'])
      expect(url.safeParse(good).success).toBe(true);
    for (const bad of [
      'http://api.example.test',
      'https://u:p@api.example.test',
      'https://x.test/?a',
      'ftp://x.test',
      'http://127.evil.test',
    ])
      expect(url.safeParse(bad).success).toBe(false);
    for (const bad of ['', '1,,2', '01', '@abc', '1.5', 'name']) expect(chats.safeParse(bad).success).toBe(false);
    for (const bad of ['', 'abc', '12:short', '12:abcdefghijklmnopqrstuvwx/../y'])
      expect(token.safeParse(bad).success).toBe(false);
  });
});
