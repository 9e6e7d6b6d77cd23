import type { CallPreview } from '@holdpoint/contracts';
import { domainOf } from './address.js';

const MOST_NAMED = 10;

/** The mail as its receivers will see it, who does not see that others get it, and who is not of the sender's own domain. */
export function previewOf(mail: {
  from: string;
  to: readonly string[];
  cc: readonly string[];
  bcc: readonly string[];
  subject: string;
  body: string;
}): CallPreview {
  const { from, to, cc, bcc, subject, body } = mail;
  const own = domainOf(from).toLowerCase();
  const outside = [...to, ...cc, ...bcc].filter((a) => domainOf(a).toLowerCase() !== own);
  const notes = [
    ...(outside.length > 0 ? [`Outside of ${own}: ${listed(outside)}.`] : []),
    ...(bcc.length > 0 ? [`Copies that the other recipients do not see: ${listed(bcc)}.`] : []),
  ];
  return {
    kind: 'mail',
    from,
    to: [...to],
    cc: [...cc],
    ...(bcc.length > 0 ? { bcc: [...bcc] } : {}),
    subject,
    body,
    ...(notes.length > 0 ? { note: notes.join(' ') } : {}),
  };
}

function listed(addresses: readonly string[]): string {
  const all = [...new Set(addresses)];
  const more = all.length - MOST_NAMED;
  return all.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
