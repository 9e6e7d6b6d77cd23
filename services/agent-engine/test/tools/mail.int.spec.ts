import { afterEach, describe, expect, it } from '@jest/globals';
import { simpleParser } from 'mailparser';
import type { ToolContext } from '../../src/tools/tool.js';
import { callMail } from './call-mail.js';
import { decodeMail } from './decode.js';
import { crudeServer, deadUrl, smtpServer } from './smtp.js';

const closing: (() => Promise<void>)[] = [];
const closed = <T extends { close: () => Promise<void> }>(server: T): T => {
  closing.push(server.close);
  return server;
};
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

const call = (url: string, json: string, ctx: Partial<ToolContext> = {}) =>
  callMail({ MAIL_SMTP_URL: url, MAIL_MAILDIR: '/nowhere' }, json, ctx);
const letter = (fields: object = {}) =>
  JSON.stringify({ action: 'send', to: ['ann@example.test'], subject: 'Hello', body: 'Hello Ann.\n', ...fields });

describe('Mail.send', () => {
  it('hands the mail over once, with its recipients, headers and a message id made from the call', async () => {
    const { url, delivered } = closed(await smtpServer());
    const outcome = await call(
      url,
      letter({ cc: ['bob@example.test'], bcc: ['eve@example.test', 'ann@example.test'] }),
    );
    expect(outcome).toMatchObject({ kind: 'done' });
    expect(delivered).toHaveLength(1);
    expect(delivered[0]).toMatchObject({
      from: 'agent@example.test',
      to: ['ann@example.test', 'bob@example.test', 'eve@example.test'],
    });
    const mail = await simpleParser(delivered[0]?.raw ?? '');
    expect(mail).toMatchObject({ subject: 'Hello', text: 'Hello Ann.\n', messageId: '<01jcall@example.test>' });
    expect(mail.headers.has('bcc')).toBe(false);
    expect(Math.abs(Date.now() - (mail.date?.getTime() ?? 0))).toBeLessThan(60_000);
  });

  const bodies = [
    '',
    '\n',
    'no line feed at the end',
    'one\n',
    'one\n\n\n',
    '.\n',
    '.hidden\n..\n.\n.',
    'one\r\ntwo\r\n',
    'one\rtwo\n\rthree',
    'one\r\n.\r\ntwo\r\n.\r\nMAIL FROM:<eve@example.test>\r\n',
    'one\n.\r\ntwo',
    'Grüße aus Köln, 日本, \u{1f378}\n',
    'Grüße ohne Ende',
    `${'long '.repeat(500)}\n`,
    `${'ü'.repeat(5000)}\n`,
    'From the start\n \n\t\ntrailing  \n',
    '=3D =\n==\n',
    'bell \u0007 escape \u001b[31m zero width \u200b bidi \u202e separators \u2028\u2029\u0085\n',
    'Content-Type: text/html\n\n<b>not a header</b>\n',
    'x'.repeat(200_000),
  ];
  it.each([
    ['a server with 8BITMIME', {}],
    ['a server without', { hide8BITMIME: true }],
  ])('delivers every body exactly as it is frozen: %s', async (_name, options) => {
    const { url, delivered } = closed(await smtpServer({ ...options, size: 10_000_000 }));
    for (const body of bodies) {
      expect(await call(url, letter({ body }))).toMatchObject({ kind: 'done' });
      const mail = decodeMail(delivered.pop()?.raw ?? Buffer.alloc(0));
      expect(mail.body).toBe(body);
      expect(delivered).toHaveLength(0);
    }
  });

  it.each([
    ['a line break in the subject', { subject: 'x\r\nBcc: eve@example.test' }],
    ['a line separator in the subject', { subject: 'x\u2028y' }],
    ['an empty subject', { subject: '' }],
    ['a string of recipients', { to: 'ann@example.test' }],
    ['a list inside of a string', { to: ["['a@example.test', 'x@evil.test']"] }],
    ['no recipient', { to: [] }],
    ['51 recipients', { to: Array.from({ length: 51 }, (_, i) => `a${i}@example.test`) }],
    ['a line break in an address', { to: ['ann@example.test\r\nRCPT TO:<eve@example.test>'] }],
    ['a display name', { to: ['Ann <ann@example.test>'] }],
    ['two addresses in one', { to: ['ann@example.test, eve@example.test'] }],
    ['a quoted local part', { to: ['"ann eve"@example.test'] }],
    ['a route', { to: ['ann%example.test@evil.test'] }],
    ['an address literal', { to: ['ann@[127.0.0.1]'] }],
    ['a bare IP address', { to: ['ann@127.0.0.1'] }],
    ['a look-alike domain', { to: ['ann@ехample.test'] }],
    ['a comment', { to: ['ann@example.test(eve)'] }],
    ['null for a field that was left out', { bcc: null }],
    ['an unknown field', { replyTo: 'eve@example.test' }],
    ['a number as the body', { body: 1 }],
  ])('refuses %s before anything is proposed', async (_what, fields) => {
    const { url, delivered } = closed(await smtpServer());
    const refused = await call(url, letter(fields));
    expect(refused).toMatchObject({ ok: false, code: 'arguments.schema' });
    expect(JSON.stringify(refused)).not.toMatch(/eve|evil/);
    expect(delivered).toHaveLength(0);
  });

  it.each([
    ['the sender', { onMailFrom: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(new Error('go away')) }],
    ['the recipient', { onRcptTo: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(new Error('go away')) }],
    ['the connection', { onConnect: (_s: unknown, done: (e: Error) => void) => done(new Error('go away')) }],
    ['the size', { size: 10 }],
  ])('did not happen when the server refuses %s', async (_what, options) => {
    const { url, delivered } = closed(await smtpServer(options));
    expect(await call(url, letter())).toMatchObject({ kind: 'did-not-happen' });
    expect(delivered).toHaveLength(0);
  });

  it.each([true, false])('sends to nobody when one recipient is refused (pipelining hidden: %s)', async (hidden) => {
    const { url, delivered } = closed(
      await smtpServer({
        hidePIPELINING: hidden,
        onRcptTo: (address, _session, done) =>
          done(address.address.startsWith('bob') ? new Error('no such user') : null),
      }),
    );
    const outcome = await call(url, letter({ to: ['ann@example.test', 'bob@example.test'] }));
    expect(outcome).toEqual({
      kind: 'did-not-happen',
      error: 'The mail server refused bob@example.test, so nothing was sent to anyone.',
    });
    expect(delivered).toHaveLength(0);
  });

  it('did not happen when the server refuses the message after it was handed over', async () => {
    const { url } = closed(
      await smtpServer({
        onData: (stream, _session, done) => {
          stream.resume().on('end', () => done(Object.assign(new Error('looks like spam'), { responseCode: 554 })));
        },
      }),
    );
    const outcome = await call(url, letter());
    expect(outcome).toMatchObject({ kind: 'did-not-happen' });
    expect(JSON.stringify(outcome)).toContain('looks like spam');
  });

  it('did not happen when nobody listens', async () => {
    expect(await call(await deadUrl(), letter())).toMatchObject({ kind: 'did-not-happen' });
  });

  it('is unknown when the server takes the message and never answers', async () => {
    const waiting = Promise.withResolvers<void>();
    const { url } = closed(
      await smtpServer({ onData: (stream) => void stream.resume().on('end', () => waiting.resolve()) }),
    );
    const timeUp = new AbortController();
    const outcome = call(url, letter(), { signal: timeUp.signal });
    await waiting.promise;
    timeUp.abort();
    expect(await outcome).toMatchObject({ kind: 'unknown' });
  });

  it('is unknown when the connection is lost between the message and its answer', async () => {
    const { url } = closed(await crudeServer((line) => (line === '.' ? null : line === 'DATA' ? '354 go' : '250 ok')));
    expect(await call(url, letter())).toMatchObject({ kind: 'unknown' });
  });

  it('is unknown when the server answers that it is going away', async () => {
    const { url } = closed(
      await crudeServer((line) => (line === '.' ? '421 shutting down' : line === 'DATA' ? '354 go' : '250 ok')),
    );
    expect(await call(url, letter())).toMatchObject({ kind: 'unknown' });
  });

  it('did not happen when the connection is lost before the message', async () => {
    const { url } = closed(await crudeServer((line) => (line === 'DATA' ? null : '250 ok')));
    expect(await call(url, letter())).toMatchObject({ kind: 'did-not-happen' });
  });

  it('did not happen when its time was up before the message', async () => {
    const asked = Promise.withResolvers<void>();
    const { url } = closed(
      await crudeServer((line) => {
        if (line !== 'DATA') return '250 ok';
        asked.resolve();
        return '';
      }),
    );
    const timeUp = new AbortController();
    const outcome = call(url, letter(), { signal: timeUp.signal });
    await asked.promise;
    timeUp.abort();
    expect(await outcome).toMatchObject({ kind: 'did-not-happen' });
  });

  it('asks for the lease at the last moment, and sends nothing without it', async () => {
    const { url, delivered } = closed(await smtpServer());
    let asked = 0;
    const stillLeased = async () => ++asked > 1;
    expect(await call(url, letter(), { stillLeased })).toMatchObject({ kind: 'did-not-happen' });
    expect(delivered).toHaveLength(0);
    expect(await call(url, letter(), { stillLeased })).toMatchObject({ kind: 'done' });
    expect(delivered).toHaveLength(1);
    expect(await call(url, letter(), { signal: AbortSignal.abort() })).toMatchObject({ kind: 'did-not-happen' });
    expect(delivered).toHaveLength(1);
  });

  it('logs in where it is told to, and sends nothing when it may not', async () => {
    const { url, delivered } = closed(
      await smtpServer({
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: (auth, _session, done) =>
          auth.username === 'a@b' && auth.password === 'p:w' ? done(null, { user: 'a' }) : done(new Error('no')),
      }),
    );
    const as = (user: string) => url.replace('//', `//${user}@`);
    expect(await call(as('a%40b:wrong'), letter())).toMatchObject({ kind: 'did-not-happen' });
    expect(await call(url, letter())).toMatchObject({ kind: 'did-not-happen' });
    expect(delivered).toHaveLength(0);
    expect(await call(as('a%40b:p%3Aw'), letter())).toMatchObject({ kind: 'done' });
    expect(delivered).toHaveLength(1);
  });

  it('shows a hostile answer of the server escaped and short', async () => {
    const { url } = closed(
      await crudeServer((line) => (line.startsWith('MAIL') ? `550 \u001b[2J${'x'.repeat(900)}` : '250 ok')),
    );
    const outcome = JSON.stringify(await call(url, letter()));
    expect(outcome).toContain('550 \\\\u{1b}[2J');
    expect(outcome.length).toBeLessThan(400);
  });
});
