import { setTimeout as pause } from 'node:timers/promises';
import { done, type ToolContext, type ToolOutcome, unknown } from '../tool.js';
import { lookInto, MailboxFault } from './imap.js';
import type { MailServer } from './server.js';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
const NO_COPY = 'No copy of it was filed, which proves nothing: one may come late or lie elsewhere.';
/** Of the mails that a server names for one message id. */
const MOST_LOOKED_AT = 10;

/**
 * Whether the provider filed a copy of the mail, which proves that it took it. No copy proves nothing, as one may come late
 * or lie elsewhere: then the answer is `unknown` and never `did-not-happen`, so that no mail is sent a second time. Looks
 * again, at growing intervals, as long as the action's time lasts. Changes nothing in the mailbox.
 * @param messageId with its angle brackets
 */
export async function findSent(
  server: MailServer,
  mailbox: string,
  messageId: string,
  { signal }: Pick<ToolContext, 'signal'>,
): Promise<ToolOutcome> {
  let why: string | undefined;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    try {
      if (await holds(server, mailbox, messageId, signal))
        return done('Sent. The mailbox of sent mail holds the copy that the mail server filed.');
      why = NO_COPY;
    } catch (error) {
      if (!(error instanceof MailboxFault)) throw error;
      // a look that was cut short by the end of the time says less than the one before it
      if (!signal.aborted || why === undefined)
        why = `Whether a copy of it was filed could not be looked up. ${error.reason}`;
      if (error.settings) break;
    }
    if (!(await lasts(wait, signal))) break;
  }
  return unknown(`The mail may have been sent. ${why}`);
}

const holds = (server: MailServer, path: string, messageId: string, signal: AbortSignal): Promise<boolean> =>
  lookInto(server, path, signal, async ({ client }) => {
    const bare = messageId.slice(1, -1);
    const found = await client.search({ header: { 'message-id': bare } }, { uid: true });
    if (!Array.isArray(found)) throw new Error('the search was refused');
    // a search of headers is one for a part of them, and servers differ in how they do it
    for (const uid of found.slice(-MOST_LOOKED_AT)) {
      const mail = await client.fetchOne(String(uid), { envelope: true }, { uid: true });
      if (mail && mail.envelope?.messageId?.trim() === messageId) return true;
    }
    return false;
  });

const lasts = (ms: number, signal: AbortSignal): Promise<boolean> => pause(ms, true, { signal }).catch(() => false);
