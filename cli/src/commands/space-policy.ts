import {
  actionName,
  type SpacePolicyView,
  type SpaceToolView,
  spacePolicyAudit,
  spacePolicyView,
  spaceToolView,
} from '@holdpoint/contracts';
import { z } from 'zod';
import { type Client, queryString } from '../client.js';
import { ask, canAsk } from '../confirm.js';
import { Failure, failed, misused } from '../failure.js';
import { advise, document, say, TYPED } from '../output.js';
import { pathOf, spaceOf } from '../spaces-of.js';
import { block, inline, table } from '../text.js';

interface Options {
  json?: boolean;
  space?: string;
}

/** What a space lets its agents do without asking that cannot be undone, and what else there is of that kind. */
export async function showPolicy(client: Client, o: Options): Promise<number> {
  const space = await spaceOf(client, o.space);
  const policy = await client.get('policy', pathOf(space, 'policy'), spacePolicyView);
  if (o.json) {
    document(policy);
    return 0;
  }
  const since =
    policy.updatedAt === null ? '' : `, since ${policy.updatedAt} by ${inline(policy.updatedBy ?? '?', 128)}`;
  say(`${space} allows ${policy.allowDestructive.length} destructive action(s)${since}.`);
  const rows = destructiveOf(await toolsOf(client, space));
  const known = new Set(rows.map((r) => r.name));
  const gone = policy.allowDestructive.filter((n) => !known.has(n));
  if (rows.length + gone.length > 0)
    say(
      '',
      ...table(
        ['ACTION', 'ALLOWED', 'AGENTS', 'A CALL NOW', 'DESTROYS'],
        [
          ...rows.map((r) => [
            inline(r.name, 80),
            policy.allowDestructive.includes(r.name) ? 'yes' : 'no',
            inline(r.agents.join(','), 40),
            r.verdicts,
            inline(r.affects ?? '?', 60),
          ]),
          ...gone.map((n) => [inline(n, 80), 'yes', '-', '-', 'no agent has it any more']),
        ],
      ),
      '',
    );
  advise(`To change it:  ${TYPED} policy allow <action> | policy revoke <action>`);
  return 0;
}

/** Opts in to destructive actions, for every agent and every member of the space, after somebody has said that they know. */
export async function allow(
  client: Client,
  actions: string[],
  o: Options & { acknowledge?: boolean },
): Promise<number> {
  const wanted = namesOf(actions);
  if (!o.acknowledge && (o.json || !canAsk()))
    throw misused(
      'What is allowed runs without asking anybody and cannot be undone. Give --acknowledge to say that you know.',
    );
  const space = await spaceOf(client, o.space);
  const path = pathOf(space, 'policy');
  const before = await client.get('policy', path, spacePolicyView);
  const added = wanted.filter((n) => !before.allowDestructive.includes(n));
  if (added.length > 0 && !o.acknowledge) {
    const known = destructiveOf(await toolsOf(client, space));
    for (const name of added) {
      const found = known.find((k) => k.name === name);
      say(`${inline(name, 300)}, by ${inline(found?.agents.join(', ') ?? 'no agent', 80)}:`);
      say(...block(found?.description ?? 'No agent of the space has it.'));
      if (found?.affects) say(`  Destroys: ${inline(found.affects, 300)}`);
    }
    say('', `Agents of ${space} will do this without asking anybody, whoever they act for. It cannot be undone.`);
    if ((await ask('To allow it, type yes: ')) !== 'yes')
      throw failed('cli.not-confirmed', 'Nothing was allowed: it was not confirmed with yes.');
  }
  if (added.length === 0) return told(before, o, `${space} allows that already.`);
  const body = { allowDestructive: [...before.allowDestructive, ...added], acknowledged: true };
  const after = await client.put('policy', path, body, spacePolicyView);
  return told(after, o, `${space} allows ${written(added)} now, without asking anybody.`);
}

const READ_AT_MOST = 5;

/** Takes opt-ins back. Once this returns, no call that was not begun before is begun. */
export async function revoke(client: Client, actions: string[], o: Options): Promise<number> {
  const unwanted = namesOf(actions);
  const space = await spaceOf(client, o.space);
  for (let asked = 1; ; asked++)
    try {
      return await revokeFrom(client, space, unwanted, o);
    } catch (error) {
      // Somebody else took something out since the list was read; to send it again would put that back.
      const overtaken = error instanceof Failure && error.problem.code === 'policy.not-acknowledged';
      if (!overtaken || asked >= READ_AT_MOST) throw error;
    }
}

async function revokeFrom(client: Client, space: string, unwanted: string[], o: Options): Promise<number> {
  const path = pathOf(space, 'policy');
  const before = await client.get('policy', path, spacePolicyView);
  const missing = unwanted.filter((n) => !before.allowDestructive.includes(n));
  if (missing.length > 0)
    throw failed(
      'cli.not-allowed',
      `${space} does not allow ${written(missing)}. Nothing was changed; \`policy show\` lists what it allows.`,
      404,
    );
  const body = { allowDestructive: before.allowDestructive.filter((n) => !unwanted.includes(n)) };
  const after = await client.put('policy', path, body, spacePolicyView);
  return told(after, o, `${space} allows ${written(unwanted)} no longer. What had begun before is not undone.`);
}

/** Who allowed and revoked what, the latest first. */
export async function policyAudit(client: Client, o: Options & { limit?: string; before?: string }): Promise<number> {
  const limit = limitOf(o.limit);
  const space = await spaceOf(client, o.space);
  const path = `${pathOf(space, 'policy/audit')}${queryString({ limit, cursor: o.before })}`;
  const found = await client.get('policy', path, spacePolicyAudit);
  if (o.json) document(found);
  else if (found.entries.length === 0) say(`Nothing was ever allowed in ${space}.`);
  else {
    say(
      ...table(
        ['AT', 'WHO', 'DID', 'ACTION'],
        found.entries.map((e) => [
          e.at,
          `${inline(e.actorDisplayName, 40)} (${inline(e.actorId, 40)})`,
          e.action === 'added' ? 'allowed' : 'revoked',
          inline(e.toolName, 80),
        ]),
      ),
    );
    if (found.nextCursor !== undefined) say('', `There are older entries: --before ${inline(found.nextCursor, 300)}`);
  }
  return 0;
}

export function limitOf(text: string | undefined): number {
  const limit = Number(text ?? '50');
  if (Number.isInteger(limit) && limit >= 1 && limit <= 200) return limit;
  throw misused('--limit is a number from 1 to 200.');
}

function told(policy: SpacePolicyView, o: Options, sentence: string): number {
  if (o.json) document(policy);
  else say(sentence);
  return 0;
}

function namesOf(texts: string[]): string[] {
  for (const text of texts)
    if (!actionName.safeParse(text).success)
      throw misused(
        'An action is written Tool.action, or server/Tool.action for a tool of another server; `policy show` lists them.',
      );
  return [...new Set(texts)];
}

const written = (names: string[]): string => names.map((n) => inline(n, 300)).join(', ');

const toolsOf = async (client: Client, space: string): Promise<SpaceToolView[]> =>
  (await client.get('policy', pathOf(space, 'tools'), z.object({ items: z.array(spaceToolView) }))).items;

/** The actions that can be opted in to. */
const destructiveOf = (tools: SpaceToolView[]) =>
  tools.flatMap((t) =>
    t.actions.flatMap((a) => {
      if (a.hint !== 'destructive' || a.toolName === null) return [];
      const { toolName: name, description } = a;
      const verdicts = [...new Set(a.verdicts.map((v) => v.verdict))].join(',') || '-';
      return { name, description, agents: t.agents, affects: t.affectedData, verdicts };
    }),
  );
