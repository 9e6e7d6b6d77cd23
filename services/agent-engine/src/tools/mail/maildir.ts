import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ParsedMail, simpleParser } from 'mailparser';

export interface InboxMail {
  /** The maildir's unique name, without flags. */
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

const MAX_MAIL_BYTES = 1024 * 1024;
const MAX_HEAD_BYTES = 64 * 1024;
const MAX_FIELD = 200;
const MAX_TEXT = 4_000;
const MAX_LIST_BYTES = 64 * 1024;

/**
 * The newest mails of `new` and `cur`, newest first. Reads only: nothing is moved, flagged or marked as seen. Mails are
 * strangers' bytes: one that cannot be parsed is named and hides no other. As JSON the list takes at most 64 KiB; a note
 * at its end says how many mails were left out for that.
 * @throws when the folder is no maildir or cannot be read
 */
export async function newestMails(
  maildir: string,
  limit: number,
  signal: AbortSignal,
): Promise<(InboxMail | UnreadableMail | LeftOut)[]> {
  const files = (await Promise.all(['new', 'cur'].map((part) => filesOf(maildir, part)))).flat();
  files.sort((a, b) => b.arrived - a.arrived || (a.id < b.id ? 1 : -1));
  const mails: (InboxMail | UnreadableMail)[] = [];
  let room = MAX_LIST_BYTES - 200; // for the note
  for (const [i, file] of files.entries()) {
    if (mails.length === limit) break;
    signal.throwIfAborted();
    const bytes = await beginningOf(file.path);
    // a mail program took it away, or it is no plain file
    if (!bytes) continue;
    const mail = await read(file.id, bytes);
    room -= Buffer.byteLength(JSON.stringify(mail)) + 1;
    if (room < 0) {
      const left = Math.min(limit - mails.length, files.length - i);
      return [...mails, { note: `${left} older mails were left out, as the list would be too long.` }];
    }
    mails.push(mail);
  }
  return mails;
}

async function filesOf(maildir: string, part: string): Promise<{ id: string; path: string; arrived: number }[]> {
  const names = await readdir(join(maildir, part));
  return names
    .filter((n) => !n.startsWith('.'))
    .map((n) => ({
      id: n.split(':')[0] ?? n,
      path: join(maildir, part, n),
      // a maildir name begins with the seconds of its delivery
      arrived: Number(/^[0-9]+/.exec(n)?.[0] ?? 0),
    }));
}

async function beginningOf(path: string): Promise<Buffer | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (!file) return null;
  try {
    if (!(await file.stat()).isFile()) return null;
    const buffer = Buffer.alloc(MAX_MAIL_BYTES);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function read(id: string, bytes: Buffer): Promise<InboxMail | UnreadableMail> {
  let mail: ParsedMail;
  try {
    mail = await simpleParser(bytes, LIMITS);
  } catch {
    return { id, note: 'This mail could not be read.' };
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
