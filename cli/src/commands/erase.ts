import { erasureRequest, erasureView } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { ask, canAsk } from '../confirm.js';
import { misused } from '../failure.js';
import { advise, document, say } from '../output.js';
import { spaceOf } from '../spaces-of.js';
import { inline } from '../text.js';

export interface EraseOptions {
  json?: boolean;
  space?: string;
  conversation?: string;
  person?: string;
  before?: string;
  everything?: boolean;
  reason: string;
  yes?: boolean;
}

/** Destroys the keys of conversations' content, once somebody has typed that it is meant. It cannot be undone. */
export async function erase(client: Client, o: EraseOptions): Promise<number> {
  const before = o.before === undefined ? undefined : new Date(o.before);
  if (before && Number.isNaN(before.getTime()))
    throw misused('--before is a point in time, such as 2026-01-31T09:00:00Z.');
  const spaceId = await spaceOf(client, o.space);
  const request = erasureRequest.safeParse({
    spaceId,
    reason: o.reason,
    ...(o.conversation === undefined ? {} : { conversationId: o.conversation }),
    ...(o.person === undefined ? {} : { personId: o.person }),
    ...(before === undefined ? {} : { before: before.toISOString() }),
    ...(o.everything ? { everything: true } : {}),
  });
  if (!request.success) {
    const issue = request.error.issues[0];
    throw misused(`${[...(issue?.path ?? []), issue?.message].join(': ')}.`);
  }
  if (!o.yes) {
    if (!canAsk()) throw misused('What is erased is gone for good. Add --yes where nobody can be asked.');
    say(`Content is erased for good: ${what(o)} in ${spaceId}. Nothing but a backup brings it back.`);
    if ((await ask('Type erase to go on: ')) !== 'erase') {
      say('Nothing was erased.');
      return 1;
    }
  }
  const { destroyed, busy } = await client.post('engine', '/v1/erasures', request.data, erasureView);
  if (o.json) document({ destroyed, busy });
  else {
    say(
      `${destroyed} conversation${destroyed === 1 ? '' : 's'} erased. Within a minute no service opens them any more.`,
    );
    if (busy.length > 0) advise(`Left alone, as something runs in them; cancel it and erase again:  ${busy.join(' ')}`);
  }
  return busy.length > 0 ? 1 : 0;
}

const what = (o: EraseOptions): string =>
  [
    o.everything ? 'every conversation' : 'conversations',
    ...(o.conversation === undefined ? [] : [`named ${inline(o.conversation)}`]),
    ...(o.person === undefined ? [] : [`of ${inline(o.person)}`]),
    ...(o.before === undefined ? [] : [`in which nothing has run since ${inline(o.before)}`]),
  ].join(' ');
