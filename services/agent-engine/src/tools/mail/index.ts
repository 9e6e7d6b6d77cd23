import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { exactInteger } from '../exact-integer.js';
import { defineAction, didNotHappen, done, type Tool } from '../tool.js';
import { address } from './address.js';
import { newestMails } from './maildir.js';
import { compose } from './message.js';
import { deliver, smtpServer } from './smtp.js';

export const mailConfig = {
  MAIL_SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be smtp://[user:password@]host[:port], or smtps://' }),
  /** The bare address that every mail comes from; its domain is that of the message ids. */
  MAIL_FROM: address,
  /** How long a server may take to accept a mail; after that its end is unknown. */
  MAIL_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(100)
    .max(600_000)
    .default(60_000)
    .describe('a number of milliseconds from 100 to 600000'),
  MAIL_MAILDIR: z.string().refine(isAbsolute, 'must be an absolute path of a maildir'),
};
export type MailConfig = z.infer<z.ZodObject<typeof mailConfig>>;

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
 * Mail of one mailbox: `send` by SMTP, `read_inbox` from a maildir.
 *
 * `send` is at most once: SMTP has no key that a server would recognise a repetition by. The body arrives as the
 * characters of the frozen `body` and nothing else. A mail that was handed over and not answered for is `unknown`.
 */
export function mailTool(config: MailConfig): Tool {
  const server = smtpServer(config.MAIL_SMTP_URL);
  const from = config.MAIL_FROM;
  return {
    name: 'Mail',
    description: `Mail of ${from}, plain text.`,
    actions: [
      defineAction({
        name: 'send',
        description: 'Sends a mail. to, cc and bcc are lists of bare addresses, body is plain text.',
        hint: 'write',
        scope: 'user',
        executionClass: 'at-most-once',
        schema: send,
        timeoutMs: config.MAIL_TIMEOUT_MS,
        secretFields: ['body'],
        run: ({ to, cc = [], bcc = [], subject, body }, ctx) => {
          const letter = { callId: ctx.callId, date: new Date(), from, to, cc, subject, body };
          const envelope = { from, to: [...to, ...cc, ...bcc] };
          return deliver(server, envelope, (eightBit) => compose(letter, eightBit), ctx);
        },
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
            return done(JSON.stringify(await newestMails(config.MAIL_MAILDIR, Number(limit), ctx.signal)));
          } catch {
            return didNotHappen('The inbox could not be read. Try again later.');
          }
        },
      }),
    ],
  };
}
