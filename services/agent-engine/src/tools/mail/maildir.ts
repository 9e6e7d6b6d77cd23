import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { simpleParser } from 'mailparser';

export interface InboxMail {
  /** The maildir's unique name, without flags. */
  id: string;
  from: string;
  subject: string;
  date: string | null;
  text: string;
  /** True when `text` is the beginning only. */
  cut: boolean;
}

const MAX_MAIL_BYTES = 1024 * 1024;
const MAX_TEXT = 4_000;

/**
 * The newest mails of `new` and `cur`, newest first. Reads only: nothing is moved, flagged or marked as seen.
 * @throws when the folder is no maildir or cannot be read
 */
export async function newestMails(maildir: string, limit: number, signal: AbortSignal): Promise<InboxMail[]> {
  const files = (await Promise.all(['new', 'cur'].map((part) => filesOf(maildir, part)))).flat();
  files.sort((a, b) => b.arrived - a.arrived || (a.id < b.id ? 1 : -1));
  const mails: InboxMail[] = [];
  for (const file of files) {
    if (mails.length === limit) break;
    signal.throwIfAborted();
    const bytes = await beginningOf(file.path);
    // a mail program took it away, or it is no plain file
    if (bytes) mails.push(await read(file.id, bytes));
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

async function read(id: string, bytes: Buffer): Promise<InboxMail> {
  const mail = await simpleParser(bytes, { skipImageLinks: true, skipTextToHtml: true });
  const text = mail.text ?? '';
  return {
    id,
    from: (mail.from?.text ?? '').toWellFormed(),
    subject: (mail.subject ?? '').toWellFormed(),
    date: mail.date?.toISOString() ?? null,
    text: text.slice(0, MAX_TEXT).toWellFormed(),
    cut: text.length > MAX_TEXT,
  };
}
