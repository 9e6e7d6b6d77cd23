import type { ApprovalSummary } from '@holdpoint/contracts';
import { type Ballot, tally, together } from '../domain/tally.js';
import { callOf, requesterOf } from '../facts.js';
import type { FrozenCall } from '../store/frozen-calls.js';
import { askedSince, castOf, type Vote, Votes } from '../store/votes.js';
import { Voters } from '../voters.js';

/** Held calls as their members see them, with the votes as they count at this moment. */
export class Views {
  constructor(
    private readonly votes: Votes,
    private readonly voters: Voters,
  ) {}

  async summaryOf(call: FrozenCall): Promise<ApprovalSummary> {
    const [summary] = await this.summariesOf([call]);
    if (summary === undefined) throw new Error('one call has one summary');
    return summary;
  }

  async summariesOf(calls: readonly FrozenCall[]): Promise<ApprovalSummary[]> {
    const votes = await this.votes.ofEach(calls.map((c) => c.call_id));
    return Promise.all(
      calls.map(async (c) => {
        const own = votes.get(c.call_id) ?? [];
        return summary(c, own, c.status === 'pending' ? await this.#ballots(c.space_id, own) : own.map(asCast));
      }),
    );
  }

  /** When it cannot be looked up what the voters are now, votes are shown as they were cast: nothing is decided by a view. */
  async #ballots(spaceId: string, votes: readonly Vote[]): Promise<Ballot[]> {
    const ids = votes.map((v) => v.voter);
    const places = await this.voters.now(spaceId, ids).catch(() => null);
    return votes.map((v) => (places === null ? asCast(v) : { cast: castOf(v), now: places.get(v.voter) ?? null }));
  }
}

const asCast = (v: Vote): Ballot => ({ cast: castOf(v), now: v });

function summary(c: FrozenCall, votes: readonly Vote[], ballots: readonly Ballot[]): ApprovalSummary {
  const { schemaDigest: _, ...call } = callOf(c);
  const requirements = together(c.requirements, askedSince(votes));
  const { missing, counted } = tally(requirements, ballots, requesterOf(c));
  const counts = new Set(counted.map((v) => v.by));
  return {
    id: c.call_id,
    number: c.number,
    spaceId: c.space_id,
    runId: c.run_id,
    ...call,
    hint: c.hint,
    status: c.status,
    stagedAt: c.staged_at.toISOString(),
    expiresAt: c.expires_at.toISOString(),
    rule: c.rule,
    policyVersion: c.policy_version,
    flags: c.flags,
    decidedBy: c.decided_by === null ? null : { kind: 'person', id: c.decided_by },
    decidedAt: c.decided_at?.toISOString() ?? null,
    execution: c.execution,
    outcome: c.outcome,
    requirements,
    votes: votes.map((v) => ({ ...castOf(v), at: v.at.toISOString(), counts: counts.has(v.voter) })),
    missing: c.status === 'approved' ? requirements.map(() => ({ votes: 0, groups: 0 })) : missing,
  };
}
