import { describe, expect, it } from '@jest/globals';
import { sensitiveKey } from './sensitive-keys.js';
import { suspectSecret } from './suspect-secret.js';
import { maskSuspected } from './suspected.js';

// Put together here, so that no scanner of this repository takes them for real ones.
const AWS = `AKIA${'IOSFODNN7EXAMPLE'}`;
const GITHUB = `ghp_${'0123456789abcdefghijABCDEFGHIJ123456'}`;
const JWT = `eyJ${'hbGciOiJIUzI1NiJ9'}.eyJ${'zdWIiOiIxMjM0NTY3ODkwIn0'}.${'dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P'}`;
const PEM = `-----BEGIN ${'RSA PRIVATE KEY'}-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu\n-----END RSA PRIVATE KEY-----`;

describe('maskSuspected', () => {
  // mcp-hangar#1130: arguments were redacted at their top level, and nested secrets stored verbatim
  it.each([
    { password: 'hunter2' },
    { config: { auth: { password: 'hunter2' } } },
    { list: [{ deep: [{ deeper: { 'X-API-Key': 'hunter2' } }] }] },
    { headers: { Authorization: 'hunter2', Cookie: 'hunter2' } },
    { credentials: { user: 'hunter2', more: ['hunter2', { any: 'hunter2' }] } },
    { 'db\u005fpasswd': 'hunter2' },
    { body: JSON.stringify({ nested: { client_secret: 'hunter2' } }) },
    { body: JSON.stringify({ body: JSON.stringify({ token: 'hunter2' }) }) },
    { env: 'export DB_PASSWORD=hunter2; run --token hunter' },
  ])('masks values by their names, at any depth: %j', (document) => {
    const masked = maskSuspected(JSON.stringify(document));
    expect(masked).not.toContain('hunter2');
    expect(masked).toContain('[secret]');
    JSON.parse(masked);
  });

  it('masks numbers, and leaves JSON JSON', () => {
    expect(JSON.parse(maskSuspected('{"pin":1,"password":47110815,"a":{"secrets":[123456,"x y z"]}}'))).toEqual({
      pin: 1,
      password: '[secret]',
      a: { secrets: ['[secret]', '[secret]'] },
    });
  });

  it('masks in JSON that is cut off', () => {
    expect(maskSuspected('{"a":1,"auth":{"password":"hunter2 and mo')).toBe('{"a":1,"auth":{"password":"[secret]');
  });

  it.each([
    ['an AWS key', AWS],
    ['a GitHub token', GITHUB],
    ['a Slack token', `xoxb-${'123456789012-abcdefghijklmnop'}`],
    ['a Stripe key', `sk_live_${'4eC39HqLyjWDarjtT1zdp7dc'}`],
    ['a JWT', JWT],
    ['a private key', PEM],
    ['a private key in JSON', JSON.stringify(PEM).slice(1, -1)],
    ['a bearer token', 'Authorization: Bearer abcdefghijklmnop0123456789'],
    ['a Telegram token', `123456789:AA${'x'.repeat(33)}`],
  ])('masks %s', (_what, secret) => {
    const body = secret.split(/-----|\s/).findLast((part) => part.length > 16 && !/KEY/.test(part)) ?? secret;
    const masked = maskSuspected(`see ${secret} there`);
    expect(masked).toContain('[secret]');
    expect(masked).not.toContain(body);
    expect(masked).toMatch(/^see .* there$/s);
  });

  it('masks the password of a connection string alone', () => {
    expect(maskSuspected('postgres://ada:hunter2@db.example/x')).toBe('postgres://ada:[secret]@db.example/x');
  });

  it.each([
    '{"action":"send","to":["a@b.example"],"body":"My password is safe. Token ring. Secret: none"}',
    '{"password":"{{secret:FTP_DROP_PIN}}","token":"[secret]"}',
    '{"promptTokens":123456,"max_tokens":4096,"nextPageToken":"abcdef"}',
    'see https://example.org/a:b@c and 12:30',
  ])('leaves alone %s', (text) => expect(maskSuspected(text)).toBe(text));

  it('hostile text is masked in passing', () => {
    const size = 256 * 1024;
    for (const piece of [
      'a',
      'a-',
      'a.',
      '"',
      '\\"',
      '"token":',
      '{"token":[',
      'token=',
      'a://',
      'eyJ',
      'sk-',
      '-----BEGIN PRIVATE KEY-----',
      'basic ',
      ' ',
      '\\',
      'xoxb-',
    ]) {
      const text = piece.repeat(Math.ceil(size / piece.length));
      const from = performance.now();
      maskSuspected(text);
      expect([piece, performance.now() - from < 3_000]).toEqual([piece, true]);
    }
  });
});

describe('sensitiveKey', () => {
  it.each([
    'password',
    'PASSWD',
    'x-api-key',
    'apiKey',
    'client_secret',
    'accessToken',
    'Authorization',
    'Set-Cookie',
    'AWS_SECRET_ACCESS_KEY',
  ])('takes %s for one', (name) => expect(sensitiveKey(name)).toBe(true));
  it.each(['body', 'key', 'tokenizer', 'completion_tokens', 'secretary', 'monkey'])('does not take %s', (name) =>
    expect(sensitiveKey(name)).toBe(false),
  );
});

describe('suspectSecret', () => {
  it('knows what secretlint knows besides', async () => {
    expect(await suspectSecret(`{"text":"shpat_${'0123456789abcdef'.repeat(2)}"}`)).toBe(true);
    expect(await suspectSecret(`{"text":"the key is ${AWS}"}`)).toBe(true);
    expect(await suspectSecret('{"text":"{{secret:FTP_DROP_PIN}} and nothing else"}')).toBe(false);
  });
});
