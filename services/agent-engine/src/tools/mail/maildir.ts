import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_MAIL_BYTES, type StoredMail } from './inbox.js';

/**
 * The mails of `new` and `cur`, newest first; an id is the maildir's unique name, without flags. Reads only: nothing is
 * moved, flagged or marked as seen.
 * @throws when the folder is no maildir or cannot be read
 */
export async function maildirMails(maildir: string): Promise<StoredMail[]> {
  const files = (await Promise.all(['new', 'cur'].map((part) => filesOf(maildir, part)))).flat();
  files.sort((a, b) => b.arrived - a.arrived || (a.id < b.id ? 1 : -1));
  return files.map(({ id, path }) => ({ id, beginning: () => beginningOf(path) }));
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

/** What is no plain file is no mail. */
async function beginningOf(path: string): Promise<Buffer | 'gone'> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (!file) return 'gone';
  try {
    if (!(await file.stat()).isFile()) return 'gone';
    const buffer = Buffer.alloc(MAX_MAIL_BYTES);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
