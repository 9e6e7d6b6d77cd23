import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { simpleParser } from 'mailparser';
import { parseArguments } from '../../src/domain/arguments/parse.js';
import { mailTool } from '../../src/tools/mail/index.js';
import { ToolRegistry } from '../../src/tools/registry.js';
import type { ToolContext } from '../../src/tools/tool.js';
import { decodeMail } from './decode.js';
import { crudeServer, deadUrl, smtpServer } from './smtp.js';

let maildir: string;
const closing: (() => Promise<void>)[] = [];
const closed = <T extends { close: () => Promise<void> }>(server: T): T => {
  closing.push(server.close);
  return server;
};
beforeEach(async () => {
  maildir = await mkdtemp(join(tmpdir(), 'holdpoint-maildir-'));
  for (const part of ['new', 'cur', 'tmp']) await mkdir(join(maildir, part));
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
  await rm(maildir, { recursive: true });
});

/** Through the registry, as the engine does it: text in, outcome out. */
async function call(url: string, json: string, ctx: Partial<ToolContext> = {}) {
  const tool = mailTool({
    MAIL_SMTP_URL: url,
    MAIL_FROM: 'agent@example.test',
    MAIL_MAILDIR: maildir,
    MAIL_TIMEOUT_MS: 60_000,
  });
  const resolved = new ToolRegistry([tool]).resolve(tool, parseArguments(json));
  if (!resolved.ok) return resolved;
  const whole = { callId: '01jcall', spaceId: 'acme', attempt: 1, signal: AbortSignal.timeout(20_000), ...ctx };
  return resolved.action.run(resolved.args, whole);
}
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

describe('Mail.read_inbox', () => {
  const mail = (subject: string, body: string) =>
    `From: Bob <bob@example.test>\r\nTo: agent@example.test\r\nSubject: ${subject}\r\nDate: Sat, 14 Feb 2026 09:00:00 +0000\r\n\r\n${body}`;
  const read = async (json: string) => {
    const outcome = await call('smtp://127.0.0.1:1', json);
    return 'kind' in outcome && outcome.kind === 'done' ? (JSON.parse(outcome.result) as unknown[]) : outcome;
  };

  it('lists new and read mails, newest first, and moves none', async () => {
    await writeFile(join(maildir, 'cur', '1700000001.a.host:2,S'), mail('older', 'seen\r\n'));
    await writeFile(join(maildir, 'new', '1700000002.b.host'), mail('newer', `${'x'.repeat(5000)}\r\n`));
    await writeFile(join(maildir, 'new', '.hidden'), mail('hidden', ''));
    await symlink('/etc/passwd', join(maildir, 'new', '1700000009.link.host'));
    await mkdir(join(maildir, 'new', '1700000008.folder.host'));
    expect(await read('{"action":"read_inbox"}')).toEqual([
      {
        id: '1700000002.b.host',
        from: '"Bob" <bob@example.test>',
        subject: 'newer',
        date: '2026-02-14T09:00:00.000Z',
        text: 'x'.repeat(4000),
        cut: true,
      },
      expect.objectContaining({ id: '1700000001.a.host', subject: 'older', text: 'seen\n', cut: false }),
    ]);
    expect(await read('{"action":"read_inbox","limit":1}')).toHaveLength(1);
    expect(await readdir(join(maildir, 'cur'))).toEqual(['1700000001.a.host:2,S']);
    expect(await readdir(join(maildir, 'new'))).toHaveLength(4);
  });

  it.each(['0', '51', '-1', '1.5', '"5"', 'null', 'true', '9007199254740993', '1e2', '1e30'])(
    'refuses %s as the limit',
    async (limit) => {
      expect(await read(`{"action":"read_inbox","limit":${limit}}`)).toMatchObject({ code: 'arguments.schema' });
    },
  );

  it('one mail that cannot be read hides no other', async () => {
    const bomb = Array.from(
      { length: 3000 },
      (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n`,
    );
    await writeFile(join(maildir, 'new', '5.bomb'), bomb.join(''));
    await writeFile(join(maildir, 'new', '4.head'), `From: ${'a@b.test, '.repeat(100_000)}\r\n\r\nhi`);
    await writeFile(join(maildir, 'new', '3.lines'), `${'X: y\r\n'.repeat(150_000)}\r\nhi`);
    await writeFile(join(maildir, 'new', '2.empty'), '');
    await writeFile(join(maildir, 'new', '1.good'), mail('good', 'seen\r\n'));
    const note = 'This mail could not be read.';
    expect(await read('{"action":"read_inbox"}')).toEqual([
      { id: '5.bomb', note },
      { id: '4.head', note },
      { id: '3.lines', note },
      { id: '2.empty', from: '', subject: '', date: null, text: '', cut: false },
      expect.objectContaining({ subject: 'good' }),
    ]);
  });

  it('bounds what a stranger wrote into the headers', async () => {
    await writeFile(join(maildir, 'new', '1.long'), `From: ${'x'.repeat(900)}@b.test\r\n${mail('s'.repeat(900), '')}`);
    const [{ from, subject }] = (await read('{"action":"read_inbox"}')) as [{ from: string; subject: string }];
    expect([from, subject].map((t) => [t.length, t.at(-1)])).toEqual([
      [200, '…'],
      [200, '…'],
    ]);
  });

  it.each(['yesterday-ish', '12', '275760', 'Mon, 99 Foo 2024 10:00:00 +0000', ''])(
    'makes no date up from %j',
    async (date) => {
      await writeFile(join(maildir, 'new', '1.x'), `Date: ${date}\r\n\r\nhi`);
      expect(await read('{"action":"read_inbox"}')).toMatchObject([{ date: null, text: 'hi' }]);
    },
  );

  it('says so when HTML leaves no text', async () => {
    await writeFile(
      join(maildir, 'new', '1.x'),
      'Content-Type: text/html\r\n\r\n<style>p { color: red }</style><p></p>',
    );
    expect(await read('{"action":"read_inbox"}')).toMatchObject([{ text: '', note: expect.stringContaining('HTML') }]);
  });

  it('answers with 64 KiB at most, and says how many mails were left out', async () => {
    for (let i = 0; i < 40; i++)
      await writeFile(join(maildir, 'new', `${1000 + i}.x`), mail(`${i}`, '查'.repeat(4000)));
    const mails = (await read('{"action":"read_inbox","limit":30}')) as { subject?: string; note?: string }[];
    expect(Buffer.byteLength(JSON.stringify(mails))).toBeLessThanOrEqual(64 * 1024);
    const listed = mails.filter((m) => m.subject !== undefined);
    expect(listed.map((m) => m.subject)).toEqual(listed.map((_, i) => `${39 - i}`));
    expect(mails.at(-1)).toEqual({ note: expect.stringMatching(`^${30 - listed.length} older mails were left out`) });
  });

  it('says so when the inbox is not there', async () => {
    expect(await read('{"action":"read_inbox"}')).toEqual([]);
    await rm(join(maildir, 'new'), { recursive: true });
    expect(await read('{"action":"read_inbox"}')).toMatchObject({ kind: 'did-not-happen' });
  });
});
