import {
  type ApprovalRequirement,
  type CastVote,
  type Missing,
  mayVote,
  missingOf,
  type Principal,
  type Role,
  released,
  USUAL_REQUIREMENT,
} from '@holdpoint/contracts';

/** What a person is in the space of the call. Null: no member. */
export type Place = { role: Role; groups: readonly string[] } | null;

/** A vote as it was cast, and what its voter is now. */
export interface Ballot {
  cast: CastVote;
  now: Place;
}

export interface Tally {
  released: boolean;
  /** For each requirement, in the same order. */
  missing: Missing[];
  /** The votes that count towards any of them, oldest first, each no more than its voter was then and still is. */
  counted: CastVote[];
}

/** As many votes as an event or a question can name. */
export const MOST_VOTES = 50;

/**
 * What the votes come to. Whoever is no member, no longer has a role that votes, or left the group does not count;
 * what a voter became after the vote does not count either, for they did not approve as that.
 */
export function tally(all: readonly ApprovalRequirement[], ballots: readonly Ballot[], requester: Principal): Tally {
  const standing = ballots.flatMap(({ cast, now }) => (now === null ? [] : [{ cast, now: stillThat(cast, now) }]));
  const countedFor = (r: ApprovalRequirement) =>
    standing.filter((b) => mayVote(r, b.cast, requester)).map((b) => b.now);
  const missing = all.map((r) => missingOf(r, countedFor(r), requester));
  const counts = (b: (typeof standing)[number]) =>
    all.some((r) => mayVote(r, b.cast, requester) && mayVote(r, b.now, requester));
  return {
    released: all.length > 0 && all.every((r) => released([r], countedFor(r), requester)),
    missing,
    counted: standing
      .filter(counts)
      .map((b) => b.now)
      .slice(-MOST_VOTES),
  };
}

const stillThat = (cast: CastVote, now: NonNullable<Place>): CastVote => ({
  by: cast.by,
  role: now.role,
  groups: cast.groups.filter((g) => now.groups.includes(g)),
});

export const mayVoteOnAny = (all: readonly ApprovalRequirement[], voter: CastVote, requester: Principal): boolean =>
  all.some((r) => mayVote(r, voter, requester));

/** All that has to be met: what was frozen, if only the usual, and what was asked for since; each once. */
export function together(
  frozen: readonly ApprovalRequirement[] | null,
  since: readonly ApprovalRequirement[] | null | undefined,
): ApprovalRequirement[] {
  const all = new Map([...(frozen ?? [USUAL_REQUIREMENT]), ...(since ?? [])].map((r) => [identityOf(r), r]));
  return [...all.values()];
}

/** One owner or admin and nothing else: their word is the decision, and no vote. */
export const onlyUsual = (all: readonly ApprovalRequirement[]): boolean =>
  all.every((r) => identityOf(r) === identityOf(USUAL_REQUIREMENT));

function identityOf(r: ApprovalRequirement): string {
  const sets = [r.roles, r.users, r.groups].map((names) => [...new Set(names)].sort());
  return JSON.stringify([sets, r.votes, r.fromGroups, r.requesterExcluded]);
}
