import type { ImapFlow } from 'imapflow';
import type { OpenMailbox } from './imap.js';
import { MAX_MAIL_BYTES, type StoredMail } from './inbox.js';

/**
 * The newest `limit` mails, the last to arrive first; no other is asked for, however many there are. An id is the mailbox's
 * UIDVALIDITY and the mail's UID, which together name one mail for ever (RFC 9051, section 2.3.1.1). Nothing is marked as
 * seen: the mailbox is open to be read alone, and bodies are peeked at.
 */
export async function newestMails({ client, mailbox }: OpenMailbox, limit: number): Promise<StoredMail[]> {
  const { exists, uidValidity } = mailbox;
  if (exists === 0) return [];
  const uids: number[] = [];
  for await (const { uid } of client.fetch(`${Math.max(1, exists - limit + 1)}:${exists}`, { uid: true }))
    if (uids.length < limit) uids.push(uid);
  return uids
    .sort((a, b) => b - a)
    .map((uid) => ({ id: `${uidValidity}.${uid}`, beginning: () => beginningOf(client, uid) }));
}

/** Answers about other mails, which a server may send at any time, are passed over one by one. */
async function beginningOf(client: ImapFlow, uid: number): Promise<Buffer | 'gone' | 'unreadable'> {
  let found: Buffer | 'gone' | 'unreadable' = 'gone';
  try {
    const source = { start: 0, maxLength: MAX_MAIL_BYTES };
    for await (const mail of client.fetch(String(uid), { source }, { uid: true }))
      if (mail.uid === uid) found = mail.source ?? (found === 'gone' ? 'unreadable' : found);
  } catch (error) {
    // the server's own refusal of this one mail; all else is the end of the connection
    if ((error as { responseStatus?: string }).responseStatus === 'NO') return 'unreadable';
    throw error;
  }
  return found;
}
