import type { CallPreview } from '@holdpoint/contracts';
import { domainOf } from './address.js';

const MOST_NAMED = 5;

/** The mail as it will look. The note says how many recipients are hidden from the others, and who is of another domain. */
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
  const all = new Set([...to, ...cc, ...bcc]);
  const outside = [...all].filter((a) => domainOf(a).toLowerCase() !== own);
  // numbers before names: what shows the note may cut it
  const notes = [
    ...(bcc.length > 0 ? [`Hidden from the other recipients: ${new Set(bcc).size} of ${all.size}.`] : []),
    ...(outside.length > 0 ? [`Outside of ${own}: ${outside.length} of ${all.size} (${listed(outside)}).`] : []),
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
  const more = addresses.length - MOST_NAMED;
  return addresses.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
