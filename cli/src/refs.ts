import { approvalSummary, page, token } from '@holdpoint/contracts';
import { type Client, queryString } from './client.js';
import { failed, misused } from './failure.js';

/** How a person names a held call: by its number in a space, or by its id. */
export type Ref = { space: string; number: number } | { id: string };

/** @throws Failure (usage) when the text is neither `acme#42` nor an id */
export function parseRef(text: string): Ref {
  const [, space, digits] = /^([^#]*)#([1-9]\d{0,9})$/.exec(text) ?? [];
  if (space !== undefined && digits !== undefined && token.safeParse(space).success)
    return { space, number: Number(digits) };
  if (/^\d{1,10}$/.test(text)) throw misused(`A number needs its space, such as acme#${text}.`);
  if (token.safeParse(text).success) return { id: text };
  throw misused(
    'A held call is named by its number in a space, such as acme#42 (in quotes where the shell cuts at #), or by its id.',
  );
}

/** An id of a run, a call or a task. @throws Failure (usage) */
export function parseId(text: string): string {
  if (token.safeParse(text).success) return text;
  throw misused('An id is made of small letters, digits, "-" and "_", at most 64 of them.');
}

/** The id behind a name. @throws Failure when there is none, or you may not see it */
export async function idOf(client: Client, text: string): Promise<string> {
  const ref = parseRef(text);
  if ('id' in ref) return ref.id;
  const path = `/v1/approvals${queryString({ ...ref, status: 'all' })}`;
  const { items } = await client.get('staging', path, page(approvalSummary));
  // never act on another call than the one that was named, whatever the service found
  const found = items.find((a) => a.spaceId === ref.space && a.number === ref.number);
  if (found) return found.id;
  throw failed('cli.no-such-call', `There is no ${ref.space}#${ref.number}, or you may not see it.`, 404);
}
