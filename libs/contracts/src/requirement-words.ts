import type { ApprovalRequirement, Missing } from './requirement.js';

/** Who may vote, such as `an owner, an admin or group risk`. */
export const votersInWords = (r: ApprovalRequirement): string =>
  either([
    ...r.roles.map((role) => (role === 'member' ? 'a member' : `an ${role}`)),
    ...r.users,
    ...r.groups.map((group) => `group ${group}`),
  ]);

/** A requirement as a sentence without its stop. Names in it are ids and tokens: printable, and not of an agent. */
export function requirementInWords(r: ApprovalRequirement): string {
  const across = r.fromGroups > 0 ? `, of ${r.fromGroups} different group${r.fromGroups === 1 ? '' : 's'}` : '';
  const excluded = r.requesterExcluded ? ', and not from whoever it acts for' : '';
  return `${r.votes} vote${r.votes === 1 ? '' : 's'} from ${votersInWords(r)}${across}${excluded}`;
}

/** What is still needed, such as `1 more is needed from group risk`; empty when nothing is. */
export function missingInWords(requirements: readonly ApprovalRequirement[], missing: readonly Missing[]): string {
  const needs = requirements.flatMap((r, i) => {
    const { votes, groups } = missing[i] ?? { votes: r.votes, groups: r.fromGroups };
    if (votes === 0 && groups === 0) return [];
    const of = groups > 0 ? `${groups} more group${groups === 1 ? '' : 's'}` : '';
    if (votes === 0) return [`a vote of ${of} is needed, from ${votersInWords(r)}`];
    const across = groups > 0 ? `, of ${of}` : '';
    return [`${votes} more ${votes === 1 ? 'is' : 'are'} needed from ${votersInWords(r)}${across}`];
  });
  return [...new Set(needs)].join(', and ');
}

const either = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
