import { type ParsedMail, simpleParser } from 'mailparser';

export interface InboxMail {
  /** Stays the same as long as the mail is in its mailbox. */
  id: string;
  /** At most 200 characters, the last of which is `…` where there were more; so is `subject`. */
  from: string;
  subject: string;
  /** Null where the mail has no date, or none that is one. */
  date: string | null;
  text: string;
  /** True when `text` is the beginning only. */
  cut: boolean;
  /** Why there is no text, where there should be. */
  note?: string;
}
/** A mail that is there and cannot be parsed. */
export type UnreadableMail = Pick<InboxMail, 'id'> & { note: string };
/** Stands at the end of a list that grew too large. */
export type LeftOut = { note: string };

/** A mail where it is kept. */
export interface StoredMail {
  id: string;
  /** At most its first `MAX_MAIL_BYTES`: more never gets into memory. `gone` when somebody took it away. */
  beginning(): Promise<Buffer | 'gone' | 'unreadable'>;
}

export const MAX_MAIL_BYTES = 1024 * 1024;
const MAX_HEAD_BYTES = 64 * 1024;
const MAX_FIELD = 200;
const MAX_TEXT = 4_000;
const MAX_LIST_BYTES = 64 * 1024;

/**
 * The first `limit` of `stored` that are still there, in this order. Mails are strangers' bytes: one that cannot be parsed
 * is named and hides no other. As JSON the list takes at most 64 KiB; a note at its end says how many mails were left out
 * for that.
 */
export async function listMails(
  stored: readonly StoredMail[],
  limit: number,
  signal: AbortSignal,
): Promise<(InboxMail | UnreadableMail | LeftOut)[]> {
  const mails: (InboxMail | UnreadableMail)[] = [];
  let room = MAX_LIST_BYTES - 200; // for the note
  for (const [i, { id, beginning }] of stored.entries()) {
    if (mails.length === limit) break;
    signal.throwIfAborted();
    const bytes = await beginning();
    if (bytes === 'gone') continue;
    const mail = bytes === 'unreadable' ? unreadable(id) : await read(id, bytes);
    room -= Buffer.byteLength(JSON.stringify(mail)) + 1;
    if (room < 0) {
      const left = Math.min(limit - mails.length, stored.length - i);
      return [...mails, { note: `${left} older mails were left out, as the list would be too long.` }];
    }
    mails.push(mail);
  }
  return mails;
}

const unreadable = (id: string): UnreadableMail => ({ id, note: 'This mail could not be read.' });

async function read(id: string, bytes: Buffer): Promise<InboxMail | UnreadableMail> {
  let mail: ParsedMail;
  try {
    mail = await simpleParser(bytes, LIMITS);
  } catch {
    return unreadable(id);
  }
  const text = mail.text ?? '';
  return {
    id,
    from: bounded(mail.from?.text),
    subject: bounded(mail.subject),
    date: dateOf(mail),
    text: text.slice(0, MAX_TEXT).toWellFormed(),
    cut: text.length > MAX_TEXT,
    ...(text.trim() === '' && mail.html ? { note: 'This mail is HTML alone, and no text could be made of it.' } : {}),
  };
}

/** The parser hands `maxHeadSize` to the splitter below it: headers over that make the mail unreadable, not slow. */
const LIMITS = { skipImageLinks: true, skipTextToHtml: true, maxHeadSize: MAX_HEAD_BYTES };

const bounded = (text = ''): string =>
  (text.length > MAX_FIELD ? `${text.slice(0, MAX_FIELD - 1)}…` : text).toWellFormed();

/** From the header itself, as the parser takes the present time for a date that it cannot read (RFC 5322, section 3.3). */
function dateOf({ headerLines }: ParsedMail): string | null {
  const value = headerLines.find((h) => h.key === 'date')?.line.replace(/^[^:]*:/, '') ?? '';
  const at = /^\s*(?:[a-z]{3}\s*,\s*)?\d{1,2}\s+[a-z]{3}\s+\d{2,4}\s+\d{1,2}:\d{2}/i.test(value)
    ? Date.parse(value)
    : Number.NaN;
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}
