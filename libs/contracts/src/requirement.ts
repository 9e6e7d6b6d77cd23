import { z } from 'zod';
import { token } from './ids.js';
import { type Principal, role, userId } from './principal.js';

/**
 * Who has to release a held call. May vote: whoever has one of the roles, is one of the users, or is in one of the groups.
 * `votes` different people of those have to approve, and their votes have to come from `fromGroups` different groups (of
 * `groups`, if any are named; 0: groups do not matter). One rejection by somebody who may vote closes the call.
 */
export const approvalRequirement = z
  .strictObject({
    roles: z.array(role).max(3),
    users: z.array(userId).max(50),
    groups: z.array(token).max(50),
    votes: z.int().min(1).max(10),
    fromGroups: z.int().min(0).max(10),
    /** The person on whose behalf the agent acts may not release the call. */
    requesterExcluded: z.boolean(),
  })
  .refine(
    (r) => r.roles.length + r.users.length + r.groups.length > 0,
    'nobody may approve: name roles, users or groups',
  )
  .refine((r) => r.fromGroups <= r.votes, {
    path: ['fromGroups'],
    error: 'must not be more than votes: one person votes for one group',
  });
export type ApprovalRequirement = z.infer<typeof approvalRequirement>;

/** One owner or admin, who may be the requester. */
export const USUAL_REQUIREMENT: ApprovalRequirement = {
  roles: ['owner', 'admin'],
  users: [],
  groups: [],
  votes: 1,
  fromGroups: 0,
  requesterExcluded: false,
};

/** An approval, with what its voter was when they voted. */
export const castVote = z.strictObject({ by: userId, role, groups: z.array(token).max(50) });
export type CastVote = z.infer<typeof castVote>;

/** What is still missing until a requirement is met; nothing is missing when both are 0. */
export const missingVotes = z.strictObject({ votes: z.int().min(0), groups: z.int().min(0) });
export type Missing = z.infer<typeof missingVotes>;

/** Whether this person's vote counts towards the requirement. */
export function mayVote(r: ApprovalRequirement, voter: CastVote, requester: Principal): boolean {
  if (r.requesterExcluded && requester.kind === 'person' && requester.id === voter.by) return false;
  return r.roles.includes(voter.role) || r.users.includes(voter.by) || voter.groups.some((g) => r.groups.includes(g));
}

/** A person counts once, whatever they voted how often; the requirement holds for the votes as they were cast. */
export function missingOf(r: ApprovalRequirement, votes: readonly CastVote[], requester: Principal): Missing {
  const counted = [...new Map(votes.map((v) => [v.by, v])).values()].filter((v) => mayVote(r, v, requester));
  return {
    votes: Math.max(0, r.votes - counted.length),
    groups: Math.max(0, r.fromGroups - differentGroups(counted, r.groups)),
  };
}

/** All of them have to be met: the operator's, the space's, and what either has become since. No requirement is none met. */
export const released = (
  all: readonly ApprovalRequirement[],
  votes: readonly CastVote[],
  requester: Principal,
): boolean =>
  all.length > 0 &&
  all.every((r) => {
    const { votes: v, groups: g } = missingOf(r, votes, requester);
    return v === 0 && g === 0;
  });

/** How many groups the votes can stand for when each stands for one: a person of two groups is not two people. */
function differentGroups(votes: readonly CastVote[], named: readonly string[]): number {
  const standsFor = new Map<string, number>();
  const place = (i: number, tried: Set<string>): boolean => {
    for (const group of votes[i]?.groups ?? []) {
      if ((named.length > 0 && !named.includes(group)) || tried.has(group)) continue;
      tried.add(group);
      const holder = standsFor.get(group);
      if (holder === undefined || place(holder, tried)) {
        standsFor.set(group, i);
        return true;
      }
    }
    return false;
  };
  return votes.filter((_, i) => place(i, new Set())).length;
}
