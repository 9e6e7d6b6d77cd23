import { readFile } from 'node:fs/promises';
import {
  type SpaceRulesView,
  type SpaceRuleView,
  setSpaceRulesRequest,
  spaceRulesAudit,
  spaceRulesView,
} from '@holdpoint/contracts';
import { type Client, queryString } from '../client.js';
import { misused } from '../failure.js';
import { document, say } from '../output.js';
import { pathOf, spaceOf } from '../spaces-of.js';
import { inline, span, table } from '../text.js';
import { limitOf } from './space-policy.js';

interface Options {
  json?: boolean;
  space?: string;
}

/** The rules that the space has for itself, in the form that `rules set` takes with --json. */
export async function showRules(client: Client, o: Options): Promise<number> {
  const space = await spaceOf(client, o.space);
  return tell(await client.get('policy', pathOf(space, 'rules'), spaceRulesView), o);
}

/** Replaces all rules of the space by those of the file. A file with one bad rule is refused whole. */
export async function setRules(client: Client, file: string, o: Options): Promise<number> {
  const request = await requestIn(file);
  const space = await spaceOf(client, o.space);
  return tell(await client.put('policy', pathOf(space, 'rules'), request, spaceRulesView), o);
}

/** Who added and removed which rule, the latest first. */
export async function rulesAudit(client: Client, o: Options & { limit?: string; before?: string }): Promise<number> {
  const limit = limitOf(o.limit);
  const space = await spaceOf(client, o.space);
  const path = `${pathOf(space, 'rules/audit')}${queryString({ limit, cursor: o.before })}`;
  const found = await client.get('policy', path, spaceRulesAudit);
  if (o.json) document(found);
  else if (found.entries.length === 0) say(`${space} never had a rule of its own.`);
  else {
    const rows = found.entries.map((e) => [
      e.at,
      `${inline(e.actorDisplayName, 40)} (${inline(e.actorId, 40)})`,
      e.action,
      ...cellsOf(e.rule),
    ]);
    say(...table(['AT', 'WHO', 'DID', ...HEADINGS], rows));
    if (found.nextCursor !== undefined) say('', `There are older entries: --before ${inline(found.nextCursor, 300)}`);
  }
  return 0;
}

/** `{"rules": […]}`, or what `rules show --json` printed. */
async function requestIn(file: string) {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw misused(`${file} cannot be read (${error.code}).`);
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw misused(`${file} is not JSON. Begin with what \`rules show --json\` prints.`);
  }
  const { rules } = (json ?? {}) as { rules?: unknown };
  const parsed = setSpaceRulesRequest.safeParse({ rules });
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0] ?? { path: [], message: 'is no list of rules' };
  throw misused(`${file}: ${path.join('.')}: ${message}. Nothing was changed.`);
}

function tell(view: SpaceRulesView, o: Options): number {
  if (o.json) document(view);
  else if (view.rules.length === 0) say(`${view.spaceId} has no rules of its own: the operator's hold.`);
  else {
    const by = view.updatedBy === null ? '' : `, set ${view.updatedAt} by ${inline(view.updatedBy, 128)}`;
    say(
      `${view.spaceId} has ${view.rules.length} rule(s) of its own${by}.`,
      '',
      ...table(HEADINGS, view.rules.map(cellsOf)),
    );
  }
  return 0;
}

const HEADINGS = ['CALLS OF', 'BY', 'VERDICT', 'RELEASED BY', 'WITHIN', 'REASON'];

const cellsOf = (r: SpaceRuleView): string[] => [
  `${r.server === null || r.server === 'builtin' ? '' : `${inline(r.server, 40)}/`}${inline(r.tool ?? 'anything else', 40)}${r.action === null ? '' : `.${inline(r.action, 40)}`}`,
  r.agent === null ? 'any agent' : inline(r.agent, 24),
  r.verdict,
  r.requirement === null ? '-' : releasedBy(r.requirement),
  r.expiresAfterSeconds === null ? '-' : span(r.expiresAfterSeconds * 1000),
  r.reason === null ? '' : inline(r.reason, 80),
];

function releasedBy(r: NonNullable<SpaceRuleView['requirement']>): string {
  const named = [...r.roles, ...r.users.map((u) => inline(u, 40)), ...r.groups.map((g) => `group ${g}`)].join('|');
  const apart = r.fromGroups > 1 ? ` of ${r.fromGroups} groups` : '';
  return `${r.votes} of ${named}${apart}${r.requesterExcluded ? ', not the requester' : ''}`;
}
