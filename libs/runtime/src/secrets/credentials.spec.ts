import { expect, test } from '@jest/globals';
import { credentialsOf } from './credentials.js';

test('finds tokens, keys and the passwords of URLs, and says which are no use', () => {
  const { known, unsearchable } = credentialsOf({
    HOLDPOINT_SERVICE_TOKEN: 'token-of-the-service',
    OPENAI_API_KEY: undefined,
    MAIL_SMTP_URL: 'smtps://ada:pass%2Fword-1@mail.example',
    NATS_PASSWORD: 'short',
    DATABASE_URL: 'postgres://postgres:postgres@127.0.0.1/x',
    POLICY_URL: 'http://127.0.0.1:4102',
    HOLDPOINT_MASTER_KEY_FILE: '/etc/holdpoint/master.key',
    DATABASE_POOL_MAX: 12345678,
  });
  expect(known.map((k) => [k.name, k.value, k.label])).toEqual([
    ['HOLDPOINT_SERVICE_TOKEN', 'token-of-the-service', '[secret]'],
    ['MAIL_SMTP_URL', 'pass/word-1', '[secret]'],
    ['MAIL_SMTP_URL', 'pass%2Fword-1', '[secret]'],
  ]);
  expect(unsearchable).toEqual(['NATS_PASSWORD', 'DATABASE_URL']);
});
