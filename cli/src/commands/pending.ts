import { approvalSummary } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { advise, document, say, TYPED } from '../output.js';
import { inline, named, span, table, who } from '../text.js';

/** Lists what waits for a person. */
export async function pending(client: Client, o: { json?: boolean; space?: string }): Promise<number> {
  const items = await client.all('staging', '/v1/approvals', { status: 'pending', space: o.space }, approvalSummary);
  if (o.json) document({ items });
  else if (items.length === 0) say('Nothing waits for a person.');
  else {
    const now = Date.now();
    const rows = items.map((a) => [
      `${a.spaceId}#${a.number}`,
      named(a),
      inline(a.agent, 24),
      who(a.principal),
      span(now - Date.parse(a.stagedAt)),
      span(Date.parse(a.expiresAt) - now),
      a.flags.map((f) => inline(f, 24)).join(' '),
    ]);
    say(...table(['CALL', 'WANTS', 'AGENT', 'FOR', 'WAITS', 'EXPIRES IN', 'FLAGS'], rows));
    say('');
    advise(`To look at one:  ${TYPED} show ${rows[0]?.[0]}`);
  }
  return 0;
}
