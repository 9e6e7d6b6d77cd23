import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { address } from './address.js';
import { mailServer } from './server.js';

const IMAP_URL = 'must be imaps://user:password@host[:port], or imap:// for STARTTLS';

const withLogin = (url: string): boolean => {
  try {
    const { host, auth } = mailServer(url);
    return host !== '' && Boolean(auth?.user && auth.pass);
  } catch {
    return false; // a percent sign that is no escape
  }
};

const mailbox = z
  .string()
  .min(1)
  .max(255)
  .refine((name) => !/[\p{Cc}*%]/u.test(name), 'must be the name of a mailbox');

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
  /** The inbox is a maildir or a mailbox of an IMAP server: one of the two is given, not both. */
  MAIL_MAILDIR: z.string().refine(isAbsolute, 'must be an absolute path of a maildir').optional(),
  MAIL_IMAP_URL: z
    .url({ protocol: /^imaps?$/, error: IMAP_URL })
    .refine(withLogin, IMAP_URL)
    .optional(),
  /** Of the IMAP server, to read from; INBOX unless given. */
  MAIL_IMAP_MAILBOX: mailbox.optional(),
  /** Of the IMAP server: where the provider itself files a copy of each mail that it takes. */
  MAIL_SENT_MAILBOX: mailbox.optional(),
};
export type MailConfig = z.infer<z.ZodObject<typeof mailConfig>>;

/** What no single setting can tell. @returns what is wrong, by variable */
export function wrongTogether(c: MailConfig): [keyof MailConfig, string][] {
  const wrong: [keyof MailConfig, string][] = [];
  const imap = c.MAIL_IMAP_URL !== undefined;
  if (!imap && c.MAIL_MAILDIR === undefined)
    wrong.push(['MAIL_MAILDIR', 'give either MAIL_MAILDIR or MAIL_IMAP_URL, for there must be an inbox']);
  if (imap && c.MAIL_MAILDIR !== undefined)
    wrong.push(['MAIL_MAILDIR', 'give either MAIL_MAILDIR or MAIL_IMAP_URL, not both']);
  for (const needs of ['MAIL_IMAP_MAILBOX', 'MAIL_SENT_MAILBOX'] as const)
    if (!imap && c[needs] !== undefined)
      wrong.push([needs, 'it is a mailbox of MAIL_IMAP_URL, which has to be given too']);
  if (imap && c.MAIL_SENT_MAILBOX !== undefined && sameName(c.MAIL_SENT_MAILBOX, c.MAIL_IMAP_MAILBOX ?? 'INBOX'))
    wrong.push(['MAIL_SENT_MAILBOX', 'it must not be the inbox, where strangers can put a copy of anything']);
  return wrong;
}

/** The name INBOX alone is the same in capital and small letters (RFC 9051, section 5.1). */
const sameName = (a: string, b: string): boolean => a === b || (/^inbox$/i.test(a) && /^inbox$/i.test(b));
