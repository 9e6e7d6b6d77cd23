import {
  type ApprovalView,
  approvalView,
  type CallPreviewView,
  callPreviewView,
  missingInWords,
  requirementInWords,
} from '@holdpoint/contracts';
import { fieldsOf, odditiesOf } from '../argument-text.js';
import type { Client } from '../client.js';
import { advise, document, say, TYPED } from '../output.js';
import { tellOfTrial } from '../policy-mode.js';
import { previewed } from '../preview-text.js';
import { idOf } from '../refs.js';
import { block, facts, field, inline, span, who } from '../text.js';

export async function show(client: Client, ref: string, o: { json?: boolean }): Promise<number> {
  const view = await fetchApproval(client, ref);
  if (o.json) document(view);
  else {
    await tellOfTrial(client);
    say(...described(view), '');
    if (view.status === 'pending') say(...previewed(await fetchPreview(client, view)), '');
    advise(...nextSteps(view));
  }
  return 0;
}

export const fetchApproval = async (client: Client, ref: string): Promise<ApprovalView> =>
  client.get('staging', `/v1/approvals/${await idOf(client, ref)}`, approvalView);

/** An aid: without it the exact arguments are there all the same. */
const fetchPreview = (client: Client, { id, spaceId }: ApprovalView): Promise<CallPreviewView | null> =>
  client.get('engine', `/v1/calls/${id}/preview?space=${spaceId}`, callPreviewView).catch(() => null);

/** Everything that a person needs to decide on a held call, every word of the agent's escaped and none left out. */
export function described(a: ApprovalView, now = Date.now()): string[] {
  const left = Date.parse(a.expiresAt) - now;
  const expires = a.status === 'pending' ? (left > 0 ? ` (in ${span(left)})` : ' (over)') : '';
  const lines = [
    `${a.spaceId}#${a.number}  ${a.status}`,
    ...facts([
      ['tool', inline(a.tool, 2000)],
      ['action', a.action === null ? '(the tool declares none)' : inline(a.action, 2000)],
      ['server', inline(a.server, 2000)],
      ['kind', a.hint],
      ['agent', `${inline(a.agent, 2000)}, model ${inline(a.model, 2000)}`],
      ['for', `${who(a.principal)}, from ${a.source}${a.taskId === undefined ? '' : `, task ${a.taskId}`}`],
      ['run', `${a.runId} in conversation ${a.conversationId}`],
      ['rule', `${inline(a.rule, 2000)} (policy ${inline(a.policyVersion, 64)})`],
      ['held', `${a.stagedAt} (${span(now - Date.parse(a.stagedAt))} ago)`],
      ['expires', `${a.expiresAt}${expires}`],
      ["policy's flags", a.flags.length === 0 ? 'none' : a.flags.map((f) => inline(f, 64)).join(', ')],
      ...a.requirements.map((r): [string, string] => ['needs', inline(requirementInWords(r), 2000)]),
      ...a.votes.map((v): [string, string] => ['vote', voteInWords(v, a.status)]),
      ...missingOf(a),
      ['call', a.id],
      ['digest', a.digest],
      ...outcomeOf(a),
    ]),
    '',
    `  Arguments, ${Buffer.byteLength(a.arguments)} bytes, exactly as the tool gets them`,
    '  (shown with \\u{…} for what cannot be printed):',
    ...block(a.arguments, { json: true }),
  ];
  const fields = fieldsOf(a.arguments);
  if (fields && fields.length > 0) {
    lines.push('', '  The same, for reading:');
    for (const { path, value } of fields) lines.push(...field(path || '(value)', value));
  }
  const odd = odditiesOf(a.arguments);
  if (odd.length > 0)
    lines.push(
      '',
      '  WARNING: these arguments can deceive the eye. They contain',
      ...odd.map((o) => `    ${o.count} × ${o.what}`),
    );
  for (const v of a.votes)
    if (v.reason !== null) lines.push('', `  What ${inline(v.by, 128)} said with their vote:`, ...block(v.reason));
  if (a.reason !== null) lines.push('', '  The reason given:', ...block(a.reason));
  return lines;
}

const voteInWords = (v: ApprovalView['votes'][number], status: ApprovalView['status']): string => {
  const as = [v.role, ...v.groups.map((g) => `group ${g}`)].join(', ');
  const lost = status === 'pending' && !v.counts ? '; it does not count any more' : '';
  return `${inline(v.by, 128)} (${as}) at ${v.at}${lost}`;
};

function missingOf(a: ApprovalView): [string, string][] {
  if (a.status !== 'pending') return [];
  const needed = missingInWords(a.requirements, a.missing);
  return [['missing', needed === '' ? 'nothing: whoever may vote releases it by approving' : inline(needed, 2000)]];
}

function outcomeOf(a: ApprovalView): [string, string][] {
  if (a.decidedAt === null) return [];
  const by = a.decidedBy === null ? '' : `by ${who(a.decidedBy)} `;
  const rows: [string, string][] = [['decided', `${a.status} ${by}at ${a.decidedAt}`]];
  if (a.execution !== null) rows.push(['execution', a.outcome === null ? a.execution : `${a.execution}, ${a.outcome}`]);
  return rows;
}

function nextSteps(a: ApprovalView): string[] {
  const ref = `${a.spaceId}#${a.number}`;
  if (a.execution === 'in-doubt')
    return [
      'Nobody knows whether it took effect. Find out, then:',
      `  ${TYPED} settle ${ref} --happened`,
      `  ${TYPED} settle ${ref} --did-not-happen`,
    ];
  if (a.status !== 'pending') return [`To see each step:  ${TYPED} chain ${a.id}`];
  return [
    'To release exactly this call:',
    `  ${TYPED} approve ${ref} --digest ${a.digest}`,
    'To refuse it:',
    `  ${TYPED} reject ${ref} --digest ${a.digest} --reason '…'`,
  ];
}
