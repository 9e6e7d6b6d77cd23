import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Dovecot, startDovecot } from '@holdpoint/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MailConfig } from '../../src/tools/mail/settings.js';
import { readInbox } from './call-mail.js';

let dovecot: Dovecot;
beforeAll(async () => {
  dovecot = await startDovecot();
});
afterAll(() => dovecot.stop());

let users = 0;
let maildir: string;
let settings: Partial<MailConfig>;
const mail = (subject: string, body: string) =>
  `From: Bob <bob@example.test>\r\nTo: agent@example.test\r\nSubject: ${subject}\r\nDate: Sat, 14 Feb 2026 09:00:00 +0000\r\n\r\n${body}`;
const read = (json = '{"action":"read_inbox"}') => readInbox(settings, json);

/** Both read what lies in a maildir, one of them through a server. */
const readers = {
  maildir: {
    begin: async () => {
      maildir = await mkdtemp(join(tmpdir(), 'holdpoint-maildir-'));
      for (const part of ['new', 'cur', 'tmp']) await mkdir(join(maildir, part));
      settings = { MAIL_MAILDIR: maildir };
    },
    id: (name: string) => name,
  },
  imap: {
    begin: async () => {
      const user = `user${++users}`;
      maildir = await dovecot.maildir(user);
      settings = { MAIL_IMAP_URL: dovecot.url(user) };
    },
    id: () => expect.stringMatching(/^\d+\.\d+$/) as unknown as string,
  },
};

describe.each(Object.keys(readers) as (keyof typeof readers)[])('Mail.read_inbox by %s', (reader) => {
  const { begin, id } = readers[reader];
  const put = (name: string, content: string, part = 'new') => writeFile(join(maildir, part, name), content);
  beforeEach(begin);
  afterEach(() => rm(maildir, { recursive: true, maxRetries: 20 }));

  it('lists new and read mails, newest first, and moves none', async () => {
    await put('1700000001.a.host:2,S', mail('older', 'seen\r\n'), 'cur');
    await put('1700000002.b.host', mail('newer', `${'x'.repeat(5000)}\r\n`));
    for (let i = 0; i < 2; i++)
      expect(await read()).toEqual([
        {
          id: id('1700000002.b.host'),
          from: '"Bob" <bob@example.test>',
          subject: 'newer',
          date: '2026-02-14T09:00:00.000Z',
          text: 'x'.repeat(4000),
          cut: true,
        },
        expect.objectContaining({ id: id('1700000001.a.host'), subject: 'older', text: 'seen\n', cut: false }),
      ]);
    expect(await read('{"action":"read_inbox","limit":1}')).toMatchObject([{ subject: 'newer' }]);
    expect(await readdir(join(maildir, 'cur'))).toEqual(['1700000001.a.host:2,S']);
    expect(await readdir(join(maildir, 'new'))).toEqual(['1700000002.b.host']);
  });

  it('one mail that cannot be read hides no other', async () => {
    const bomb = Array.from(
      { length: 3000 },
      (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n`,
    );
    await put('5.bomb', bomb.join(''));
    await put('4.head', `From: ${'a@b.test, '.repeat(100_000)}\r\n\r\nhi`);
    await put('3.lines', `${'X: y\r\n'.repeat(150_000)}\r\nhi`);
    await put('2.empty', '');
    await put('1.good', mail('good', 'seen\r\n'));
    const note = 'This mail could not be read.';
    expect(await read()).toEqual([
      { id: id('5.bomb'), note },
      { id: id('4.head'), note },
      { id: id('3.lines'), note },
      { id: id('2.empty'), from: '', subject: '', date: null, text: '', cut: false },
      expect.objectContaining({ subject: 'good' }),
    ]);
  });

  it('bounds what a stranger wrote into the headers', async () => {
    await put('1.long', `From: ${'x'.repeat(900)}@b.test\r\n${mail('s'.repeat(900), '')}`);
    const [{ from, subject }] = (await read()) as [{ from: string; subject: string }];
    expect([from, subject].map((t) => [t.length, t.at(-1)])).toEqual([
      [200, '…'],
      [200, '…'],
    ]);
  });

  it('makes no date up', async () => {
    const dates = ['yesterday-ish', '12', '275760', 'Mon, 99 Foo 2024 10:00:00 +0000', ''];
    for (const [i, date] of dates.entries()) await put(`${i}.x`, `Date: ${date}\r\n\r\nhi`);
    expect(await read()).toMatchObject(dates.map(() => ({ date: null, text: 'hi' })));
  });

  it('says so when HTML leaves no text', async () => {
    await put('1.x', 'Content-Type: text/html\r\n\r\n<style>p { color: red }</style><p></p>');
    expect(await read()).toMatchObject([{ text: '', note: expect.stringContaining('HTML') }]);
  });

  it('answers with 64 KiB at most, and says how many mails were left out', async () => {
    for (let i = 0; i < 40; i++) await put(`${1000 + i}.x`, mail(`${i}`, '查'.repeat(4000)));
    const mails = (await read('{"action":"read_inbox","limit":30}')) as { subject?: string; note?: string }[];
    expect(Buffer.byteLength(JSON.stringify(mails))).toBeLessThanOrEqual(64 * 1024);
    const listed = mails.filter((m) => m.subject !== undefined);
    expect(listed.map((m) => m.subject)).toEqual(listed.map((_, i) => `${39 - i}`));
    expect(mails.at(-1)).toEqual({ note: expect.stringMatching(`^${30 - listed.length} older mails were left out`) });
  });

  it('takes the beginning of a huge mail, and only the newest of many', async () => {
    const many = reader === 'imap' ? 10_000 : 100;
    const names = Array.from({ length: many }, (_, i) => `${1_700_000_000 + i}.x`);
    for (let i = 0; i < names.length; i += 500)
      await Promise.all(names.slice(i, i + 500).map((name) => put(name, `Subject: ${name}\r\n\r\nhi\r\n`)));
    await put('1800000000.x', mail('huge', 'huge mail\r\n'.repeat(3_000_000)));
    expect(await read('{"action":"read_inbox","limit":3}')).toMatchObject([
      { subject: 'huge', cut: true },
      { subject: names.at(-1) },
      { subject: names.at(-2) },
    ]);
  });

  it('an empty inbox is an empty list', async () => {
    expect(await read()).toEqual([]);
  });
});

describe('Mail.read_inbox by maildir alone', () => {
  beforeEach(readers.maildir.begin);
  afterEach(() => rm(maildir, { recursive: true, maxRetries: 20 }));

  it('follows no link and takes no folder for a mail', async () => {
    await writeFile(join(maildir, 'new', '1.x'), mail('mail', ''));
    await writeFile(join(maildir, 'new', '.hidden'), mail('hidden', ''));
    await symlink('/etc/passwd', join(maildir, 'new', '1700000009.link.host'));
    await mkdir(join(maildir, 'new', '1700000008.folder.host'));
    expect(await read()).toMatchObject([{ subject: 'mail' }]);
    expect(await readdir(join(maildir, 'new'))).toHaveLength(4);
  });

  it('says so when the inbox is not there', async () => {
    await rm(join(maildir, 'new'), { recursive: true, maxRetries: 20 });
    expect(await read()).toMatchObject({ kind: 'did-not-happen', error: expect.stringContaining('Try again later') });
  });

  it.each(['0', '51', '-1', '1.5', '"5"', 'null', 'true', '9007199254740993', '1e2', '1e30'])(
    'refuses %s as the limit',
    async (limit) => {
      expect(await read(`{"action":"read_inbox","limit":${limit}}`)).toMatchObject({ code: 'arguments.schema' });
    },
  );
});
