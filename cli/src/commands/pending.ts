import { type ApprovalSummary, approvalSummary, approvalView } from '@holdpoint/contracts';
import { odditiesOf } from '../argument-text.js';
import type { Client } from '../client.js';
import { advise, document, say, TYPED } from '../output.js';
import { tellOfTrial } from '../policy-mode.js';
import { inline, named, span, table, who } from '../text.js';

const AT_ONCE = 8;

/** Lists what waits for a person. */
export async function pending(client: Client, o: { json?: boolean; space?: string }): Promise<number> {
  const items = await client.all('staging', '/v1/approvals', { status: 'pending', space: o.space }, approvalSummary);
  if (o.json) {
    document({ items });
    return 0;
  }
  await tellOfTrial(client);
  if (items.length === 0) say('Nothing waits for a person.');
  else await list(client, items);
  return 0;
}

async function list(client: Client, items: ApprovalSummary[]): Promise<void> {
  const deceptive = await deceptiveOf(client, items);
  const now = Date.now();
  const rows = items.map((a) => [
    `${a.spaceId}#${a.number}`,
    named(a),
    inline(a.agent, 24),
    who(a.principal),
    span(now - Date.parse(a.stagedAt)),
    span(Date.parse(a.expiresAt) - now),
    votesOf(a),
    [...(deceptive.has(a.id) ? ['DECEPTIVE-TEXT'] : []), ...a.flags.map((f) => inline(f, 24))].join(' '),
  ]);
  say(...table(['CALL', 'WANTS', 'AGENT', 'FOR', 'WAITS', 'EXPIRES IN', 'VOTES', 'FLAGS'], rows));
  say('');
  if (deceptive.size > 0) say('DECEPTIVE-TEXT: what the call holds is not what it looks like; show says where.', '');
  advise(`To look at one:  ${TYPED} show ${rows[0]?.[0]}`);
}

/** Of the requirement that lacks most, such as `1 of 2`. */
function votesOf({ requirements, missing }: ApprovalSummary): string {
  const open = requirements.map((r, i) => ({
    of: r.votes,
    ...(missing[i] ?? { votes: r.votes, groups: r.fromGroups }),
  }));
  const most = open.sort((a, b) => b.votes - a.votes || b.groups - a.groups)[0];
  if (most === undefined) return '';
  const groups =
    most.votes === 0 && most.groups > 0 ? `, ${most.groups} more group${most.groups === 1 ? '' : 's'}` : '';
  return `${most.of - most.votes} of ${most.of}${groups}`;
}

/** The calls whose arguments can deceive the eye. One that cannot be opened is not among them: show says why. */
async function deceptiveOf(client: Client, items: ApprovalSummary[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (let at = 0; at < items.length; at += AT_ONCE)
    await Promise.all(
      items.slice(at, at + AT_ONCE).map(async ({ id }) => {
        const view = await client.get('staging', `/v1/approvals/${id}`, approvalView).catch(() => undefined);
        if (view !== undefined && odditiesOf(view.arguments).length > 0) found.add(id);
      }),
    );
  return found;
}
