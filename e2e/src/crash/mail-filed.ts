import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { startDovecot } from '@holdpoint/testing';
import { SMTPServer } from 'smtp-server';
import type { Probe } from './probe.js';

const AGENT = 'agent';
const SENT = 'Sent';
/** How long after its answer the provider files a copy. */
const FILED_AFTER_MS = 200;

/** `Mail.send` at a provider that files a copy of each mail that it takes, a little late, where IMAP finds it. */
export function mailFiled(): Probe {
  const taken: string[] = [];
  return {
    name: 'Mail.send-filed',
    executionClass: 'reconcilable',
    alone: true,
    remote: () => provider(taken),
    args: (n) => JSON.stringify({ action: 'send', to: ['a@example.test'], subject: `Mail ${n}`, body: `Body ${n}\n` }),
    effects: async (_stack, { id }) => taken.filter((m) => new RegExp(`^message-id:\\s*<${id}@`, 'im').test(m)).length,
  };
}

/** @param taken gets every mail that is accepted */
async function provider(taken: string[]) {
  const dovecot = await startDovecot();
  await dovecot.maildir(AGENT, SENT);
  const filing: Promise<void>[] = [];
  const file = async (mail: string, nth: number) => {
    await pause(FILED_AFTER_MS);
    await dovecot.deliver(AGENT, SENT, `${nth}.copy`, mail);
  };
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    closeTimeout: 50,
    logger: false,
    onData(stream, _session, done) {
      text(stream).then(
        (mail) => {
          filing.push(file(mail, taken.push(mail)));
          done(null);
        },
        (error: Error) => done(error),
      );
    },
  });
  // a client that is killed is what this is for
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    env: {
      MAIL_SMTP_URL: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
      MAIL_IMAP_URL: dovecot.url(AGENT),
      MAIL_SENT_MAILBOX: SENT,
      MAIL_TIMEOUT_MS: '3000',
    },
    stop: async () => {
      await Promise.all(filing);
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await dovecot.stop();
    },
  };
}
