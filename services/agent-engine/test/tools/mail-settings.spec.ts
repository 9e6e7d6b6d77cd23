import { loadConfig } from '@holdpoint/runtime';
import { describe, expect, it } from '@jest/globals';
import { engineConfig } from '../../src/config.js';
import { mailServer } from '../../src/tools/mail/server.js';
import { mailOf } from './call-mail.js';

const others = {
  DATABASE_URL: 'postgres://127.0.0.1:1/holdpoint',
  NATS_URL: 'nats://127.0.0.1:1',
  NATS_USER: 'agent-engine',
  NATS_PASSWORD: 'x',
  PORT: '0',
  HOLDPOINT_IDENTITY_FILE: '/nowhere',
  HOLDPOINT_SERVICE_TOKEN: '0123456789abcdef0123456789abcdef',
  HOLDPOINT_MASTER_KEY_FILE: '/nowhere',
  HOLDPOINT_CONFIG: '/nowhere',
  POLICY_URL: 'http://127.0.0.1:1',
  FILERW_ROOT: '/nowhere',
  MAIL_SMTP_URL: 'smtp://127.0.0.1:1',
  MAIL_FROM: 'agent@example.test',
};
const IMAP = 'imaps://ann:pass-word@mail.example.test';

describe('settings of Mail', () => {
  it.each([
    [{ MAIL_MAILDIR: '/var/mail/agent' }],
    [{ MAIL_IMAP_URL: IMAP }],
    [{ MAIL_IMAP_URL: IMAP, MAIL_IMAP_MAILBOX: 'Agent/Entwürfe', MAIL_SENT_MAILBOX: '[Gmail]/Sent Mail' }],
  ])('%j is taken', (own) => {
    expect(() => loadConfig(engineConfig, { ...others, ...own })).not.toThrow();
  });

  it.each([
    [{}, /MAIL_MAILDIR is not set: give either MAIL_MAILDIR or MAIL_IMAP_URL/],
    [{ MAIL_MAILDIR: '/var/mail', MAIL_IMAP_URL: IMAP }, /MAIL_MAILDIR is not valid: .*not both/],
    [{ MAIL_MAILDIR: '/var/mail', MAIL_SENT_MAILBOX: 'Sent' }, /MAIL_SENT_MAILBOX .*MAIL_IMAP_URL, which has to be/],
    [{ MAIL_MAILDIR: '/var/mail', MAIL_IMAP_MAILBOX: 'A' }, /MAIL_IMAP_MAILBOX .*MAIL_IMAP_URL, which has to be/],
    [{ MAIL_IMAP_URL: IMAP, MAIL_SENT_MAILBOX: 'inbox' }, /MAIL_SENT_MAILBOX .*must not be the inbox/],
    [{ MAIL_IMAP_URL: IMAP, MAIL_IMAP_MAILBOX: 'A', MAIL_SENT_MAILBOX: 'A' }, /must not be the inbox/],
    [{ MAIL_IMAP_URL: IMAP, MAIL_SENT_MAILBOX: 'S*' }, /MAIL_SENT_MAILBOX is not valid: must be the name/],
    [
      { MAIL_IMAP_URL: 'imaps://mail.example.test' },
      /MAIL_IMAP_URL is not valid: must be imaps:\/\/user:password@host/,
    ],
    [{ MAIL_IMAP_URL: 'https://ann:pass-word@mail.example.test' }, /MAIL_IMAP_URL is not valid: must be imaps:/],
    [{ MAIL_IMAP_URL: 'imaps://ann%E0:pass-word@mail.example.test' }, /MAIL_IMAP_URL is not valid: must be imaps:/],
  ])('%j is refused in one line that shows no password', (own, message) => {
    const load = () => loadConfig(engineConfig, { ...others, ...own });
    expect(load).toThrow(message);
    expect(load).not.toThrow(/pass-word|\n/);
  });

  it('a server is what its URL says, with the customary port', () => {
    const auth = { user: 'a@b', pass: 'p:w' };
    const host = 'mail.example.test';
    expect(mailServer(`imaps://a%40b:p%3Aw@${host}`)).toEqual({ host, port: 993, secure: true, auth });
    expect(mailServer(`imap://a%40b:p%3Aw@[::1]:1143`)).toEqual({ host: '::1', port: 1143, secure: false, auth });
    expect(mailServer(`smtp://${host}`)).toEqual({ host, port: 587, secure: false, auth: null });
    expect(mailServer(`smtps://${host}`)).toMatchObject({ port: 465, secure: true });
  });
});

describe('preview of Mail.send', () => {
  const preview = (fields: object) => {
    const send = mailOf({ MAIL_MAILDIR: '/nowhere' }).actions.find((a) => a.name === 'send');
    const args = { action: 'send', to: ['ann@example.test'], subject: 'Hello', body: 'Hello Ann.\n', ...fields };
    return send?.preview?.(args, { callId: '01jcall', spaceId: 'acme', signal: AbortSignal.timeout(1_000) });
  };

  it('is the mail as it will look', async () => {
    expect(await preview({ cc: ['bob@EXAMPLE.test'] })).toEqual({
      kind: 'mail',
      from: 'agent@example.test',
      to: ['ann@example.test'],
      cc: ['bob@EXAMPLE.test'],
      subject: 'Hello',
      body: 'Hello Ann.\n',
    });
  });

  it('names who is outside of the own domain, and who gets a copy that others do not see', async () => {
    expect(await preview({ to: ['ann@evil.test', 'a@sub.example.test'], bcc: ['eve@example.test'] })).toMatchObject({
      bcc: ['eve@example.test'],
      note: 'Hidden from the other recipients: 1 of 3. Outside of example.test: 2 of 3 (ann@evil.test, a@sub.example.test).',
    });
    const many = Array.from({ length: 12 }, (_, i) => `a${i}@evil.test`);
    expect(await preview({ to: many })).toMatchObject({
      note: expect.stringMatching(/12 of 12 \(.*a4@evil\.test and 7 more\)\.$/),
    });
  });
});
