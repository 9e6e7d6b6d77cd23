import { type MemberView, memberView, role, token, userId } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { failed, misused } from '../failure.js';
import { document, say } from '../output.js';
import { pathOf, spaceOf } from '../spaces-of.js';
import { inline, table } from '../text.js';

interface Options {
  json?: boolean;
  space?: string;
}

/** Lists who belongs to a space, and what they are there. */
export async function members(client: Client, o: Options): Promise<number> {
  const space = await spaceOf(client, o.space);
  const items = await all(client, space);
  if (o.json) document({ items });
  else
    say(
      ...table(
        ['MEMBER', 'NAME', 'ROLE', 'GROUPS', 'CHANGED BY', 'AT'],
        items.map((m) => [
          inline(m.userId, 40),
          inline(m.displayName, 40),
          m.role,
          m.groups.join(',') || '-',
          inline(m.changedBy, 40),
          m.changedAt,
        ]),
      ),
    );
  return 0;
}

interface AddOptions extends Options {
  role: string;
  name?: string;
  groups?: string;
}

/** Makes somebody a member who is none yet. */
export async function addMember(client: Client, user: string, o: AddOptions): Promise<number> {
  const body = {
    role: roleOf(o.role),
    ...(o.name === undefined ? {} : { displayName: o.name }),
    ...(o.groups === undefined ? {} : { groups: groupsOf(o.groups.split(',')) }),
  };
  const space = await spaceOf(client, o.space);
  const there = await find(client, space, user);
  if (there)
    throw failed(
      'cli.member-already',
      `${user} is a member already: ${there.role}. To change that, use \`members role\` or \`members groups\`.`,
      409,
    );
  return put(client, space, user, body, o);
}

/** Gives a member another role. Name and groups stay. */
export async function setRole(client: Client, user: string, to: string, o: Options): Promise<number> {
  const body = { role: roleOf(to) };
  const space = await spaceOf(client, o.space);
  await existing(client, space, user);
  return put(client, space, user, body, o);
}

/** Puts a member into exactly these groups; none takes them out of all. */
export async function setGroups(client: Client, user: string, names: string[], o: Options): Promise<number> {
  const groups = groupsOf(names);
  const space = await spaceOf(client, o.space);
  const { role: kept } = await existing(client, space, user);
  return put(client, space, user, { role: kept, groups }, o);
}

export async function removeMember(client: Client, user: string, o: Options): Promise<number> {
  const space = await spaceOf(client, o.space);
  await existing(client, space, user);
  await client.delete('policy', memberPath(space, user));
  if (o.json) document({ space, userId: user, removed: true });
  else say(`${inline(user, 128)} is no member of ${space} any more.`);
  return 0;
}

async function put(client: Client, space: string, user: string, body: object, o: Options): Promise<number> {
  const m = await client.put('policy', memberPath(space, user), body, memberView);
  if (o.json) document(m);
  else say(`${inline(m.userId, 128)} is ${m.role} of ${space}, in ${groupsInWords(m.groups)}.`);
  return 0;
}

const all = (client: Client, space: string): Promise<MemberView[]> =>
  client.all('policy', pathOf(space, 'members'), {}, memberView);

async function find(client: Client, space: string, user: string): Promise<MemberView | undefined> {
  if (!userId.safeParse(user).success)
    throw misused('A person is named by the id that they sign in with: printable ASCII without spaces.');
  return (await all(client, space)).find((m) => m.userId === user);
}

/** A name that is mistyped makes no member, and takes nobody's place. */
async function existing(client: Client, space: string, user: string): Promise<MemberView> {
  const found = await find(client, space, user);
  if (found) return found;
  throw failed('cli.no-such-member', `${user} is no member of ${space}. To take them in, use \`members add\`.`, 404);
}

const memberPath = (space: string, user: string): string => pathOf(space, `members/${encodeURIComponent(user)}`);

function roleOf(text: string) {
  const parsed = role.safeParse(text);
  if (parsed.success) return parsed.data;
  throw misused(`A role is one of: ${role.options.join(', ')}.`);
}

function groupsOf(names: string[]): string[] {
  const groups = [...new Set(names.filter((n) => n !== ''))];
  if (groups.every((g) => token.safeParse(g).success)) return groups;
  throw misused('A group is named in small letters, digits, "-" and "_", at most 64 of them.');
}

const groupsInWords = (groups: string[]): string =>
  groups.length === 0 ? 'no group' : `the group${groups.length > 1 ? 's' : ''} ${groups.join(', ')}`;
