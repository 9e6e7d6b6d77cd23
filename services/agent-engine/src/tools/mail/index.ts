import { z } from 'zod';
import { exactInteger } from '../exact-integer.js';
import { defineAction, didNotHappen, done, type Tool } from '../tool.js';
import { address } from './address.js';
import { lookInto, MailboxFault } from './imap.js';
import { newestMails } from './imap-inbox.js';
import { listMails } from './inbox.js';
import { maildirMails } from './maildir.js';
import { compose, messageId } from './message.js';
import { previewOf } from './preview.js';
import { findSent } from './sent.js';
import { mailServer } from './server.js';
import type { MailConfig } from './settings.js';
import { deliver } from './smtp.js';

const recipients = z.array(address).min(1).max(50);

const send = z.strictObject({
  action: z.literal('send'),
  to: recipients,
  cc: recipients.optional(),
  bcc: recipients.optional(),
  subject: z
    .string()
    .min(1)
    .max(250)
    .refine((s) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(s), 'expected one line without control characters'),
  body: z.string(),
});

const readInbox = z.strictObject({
  action: z.literal('read_inbox'),
  limit: exactInteger({ min: 1, max: 50 }).optional(),
});

/**
 * Mail of one mailbox: `send` by SMTP, `read_inbox` from a maildir or by IMAP.
 *
 * `send` is at most once: SMTP has no key that a server would recognise a repetition by. The body arrives as the
 * characters of the frozen `body` and nothing else. A mail that was handed over and not answered for is `unknown`. Where
 * the provider files a copy of what it took, `send` is reconcilable: the copy is looked for, and found it is proof.
 */
export function mailTool(config: MailConfig): Tool {
  const smtp = mailServer(config.MAIL_SMTP_URL);
  const from = config.MAIL_FROM;
  const list = inboxOf(config);
  const sent = sentOf(config);
  return {
    name: 'Mail',
    description: `Mail of ${from}, plain text.`,
    actions: [
      defineAction<z.infer<typeof send>>({
        name: 'send',
        description: 'Sends a mail. to, cc and bcc are lists of bare addresses, body is plain text.',
        hint: 'write',
        scope: 'user',
        executionClass: sent ? 'reconcilable' : 'at-most-once',
        schema: send,
        timeoutMs: config.MAIL_TIMEOUT_MS,
        secretFields: ['body'],
        run: ({ to, cc = [], bcc = [], subject, body }, ctx) => {
          const letter = { callId: ctx.callId, date: new Date(), from, to, cc, subject, body };
          const envelope = { from, to: [...to, ...cc, ...bcc] };
          return deliver(smtp, envelope, (eightBit) => compose(letter, eightBit), ctx);
        },
        ...(sent ? { reconcile: (_args, ctx) => findSent(...sent, messageId(ctx.callId, from), ctx) } : {}),
        preview: async ({ to, cc = [], bcc = [], subject, body }) => previewOf({ from, to, cc, bcc, subject, body }),
      }),
      defineAction({
        name: 'read_inbox',
        description: 'Lists the newest mails with sender, subject, date and text; limit is 10 unless given.',
        hint: 'read',
        scope: 'user',
        executionClass: 'idempotent',
        schema: readInbox,
        timeoutMs: 20_000,
        run: async ({ limit = 10 }, ctx) => {
          try {
            return done(JSON.stringify(await list(Number(limit), ctx.signal)));
          } catch (error) {
            const why = error instanceof MailboxFault ? error.message : 'Try again later.';
            return didNotHappen(`The inbox could not be read. ${why}`);
          }
        },
      }),
    ],
  };
}

/** @throws when no inbox is set, which `wrongTogether` tells before. */
function inboxOf({ MAIL_MAILDIR, MAIL_IMAP_URL, MAIL_IMAP_MAILBOX = 'INBOX' }: MailConfig) {
  if (MAIL_IMAP_URL !== undefined) {
    const server = mailServer(MAIL_IMAP_URL);
    return (limit: number, signal: AbortSignal) =>
      lookInto(server, MAIL_IMAP_MAILBOX, signal, async (open) =>
        listMails(await newestMails(open, limit), limit, signal),
      );
  }
  if (MAIL_MAILDIR === undefined) throw new Error('there is no inbox: set MAIL_MAILDIR or MAIL_IMAP_URL');
  return async (limit: number, signal: AbortSignal) => listMails(await maildirMails(MAIL_MAILDIR), limit, signal);
}

const sentOf = ({ MAIL_IMAP_URL, MAIL_SENT_MAILBOX }: MailConfig) =>
  MAIL_IMAP_URL === undefined || MAIL_SENT_MAILBOX === undefined
    ? undefined
    : ([mailServer(MAIL_IMAP_URL), MAIL_SENT_MAILBOX] as const);
