import type { ApprovalRequirement, CastVote, Identity, PolicyCheckReply } from '@holdpoint/contracts';
import { AnswerRunOut, Closer } from './closer.js';
import { type Ballot, mayVoteOnAny, onlyUsual, type Tally, tally, together } from './domain/tally.js';
import { requesterOf } from './facts.js';
import { PolicyQuestion } from './policy-question.js';
import * as refusal from './refusals.js';
import type { Closing, FrozenCall } from './store/frozen-calls.js';
import { askedSince, castOf, type NewVote, type Vote, Votes } from './store/votes.js';
import { placeIn, Voters } from './voters.js';

/** An answer of policy holds for a moment only; whoever waited longer for the call's row asks again, so many times. */
const ASKED_AT_MOST = 4;

interface Judged {
  answer: PolicyCheckReply;
  all: ApprovalRequirement[];
  tally: Tally;
  /** The votes that were judged, without the one at hand. */
  earlier: Vote[];
}

/**
 * Counts an approval, and releases the call once all that is asked for is met: what was frozen with it, and what policy asks
 * for at that moment. Who voted before is looked up anew, and policy is asked last, so that both are as fresh as can be.
 */
export class Release {
  constructor(
    private readonly votes: Votes,
    private readonly voters: Voters,
    private readonly policy: PolicyQuestion,
    private readonly closer: Closer,
  ) {}

  /**
   * Whether the person may vote: by what is frozen with the call, or else by what policy asks for by now.
   * @throws Refusal `forbidden`, saying who may
   */
  async requireVoter(who: Identity, call: FrozenCall): Promise<void> {
    const [voter, requester] = [voterOf(who, call), requesterOf(call)];
    if (mayVoteOnAny(together(call.requirements, null), voter, requester)) return;
    const since =
      call.status === 'pending'
        ? (await this.policy.ask(call, [])).requirements
        : askedSince(await this.votes.of(call.call_id));
    const all = together(call.requirements, since);
    if (!mayVoteOnAny(all, voter, requester)) throw refusal.mayNotVote(call, all, voter, requester);
  }

  /**
   * The call as it is afterwards: approved, or pending with one vote more. To vote again adds nothing, but releases the
   * call if by now nothing is missing.
   * @throws Refusal `staging.*`: the vote did not count, and its text says why and what to do
   */
  async approve(who: Identity, call: FrozenCall, vote: Pick<NewVote, 'digest' | 'reason'>): Promise<FrozenCall> {
    let again = false;
    for (let asked = 1; ; asked += 1) {
      const settled = await this.#settle(who, call, vote, await this.#judge(who, call));
      if (settled === 'run-out') {
        if (asked >= ASKED_AT_MOST) throw refusal.answersRunOut(call);
        continue;
      }
      // Somebody voted while this vote was judged, and may have taken it for missing: together they may suffice. Whoever
      // votes from now on sees both.
      if (!('unseen' in settled) || again) return settled.call;
      again = true;
    }
  }

  async #judge(who: Identity, call: FrozenCall): Promise<Judged> {
    const all = await this.votes.of(call.call_id);
    const earlier = all.filter((v) => v.voter !== who.id);
    const places = await this.voters.now(
      call.space_id,
      earlier.map((v) => v.voter),
    );
    const own = all.find((v) => v.voter === who.id);
    const voter = voterOf(who, call);
    const ballots: Ballot[] = [
      ...earlier.map((v) => ({ cast: castOf(v), now: places.get(v.voter) ?? null })),
      { cast: own === undefined ? voter : castOf(own), now: voter },
    ];
    const requester = requesterOf(call);
    const asked = tally(together(call.requirements, askedSince(all)), ballots, requester);
    const answer = await this.policy.ask(call, asked.counted);
    const requirements = together(call.requirements, answer.requirements);
    return { answer, all: requirements, tally: tally(requirements, ballots, requester), earlier };
  }

  async #settle(
    who: Identity,
    call: FrozenCall,
    { digest, reason }: Pick<NewVote, 'digest' | 'reason'>,
    { answer, all, tally, earlier }: Judged,
  ): Promise<{ call: FrozenCall } | { call: FrozenCall; unseen: true } | 'run-out'> {
    if (answer.halted) throw refusal.halted(call, answer);
    if (answer.verdict === 'deny') return this.#withdraw(call, answer);
    const voter = voterOf(who, call);
    if (!mayVoteOnAny(all, voter, requesterOf(call))) throw refusal.mayNotVote(call, all, voter, requesterOf(call));
    const since = all.slice(together(call.requirements, null).length);
    const vote: NewVote = { ...voter, digest, reason, requirements: since.length === 0 ? null : since };
    if (tally.released) {
      const plain = onlyUsual(all) && earlier.length === 0;
      const closing: Closing = {
        status: 'approved',
        by: who.id,
        cause: 'person',
        decidedUnder: answer.policyVersion,
        reason,
        validUntil: answer.validUntil,
        ...(plain ? {} : { votes: tally.counted }),
      };
      const closed = await this.closer.close(call.call_id, closing, plain ? undefined : vote).catch((err: unknown) => {
        if (err instanceof AnswerRunOut) return null;
        throw err;
      });
      if (closed === null) return 'run-out';
      if (!closed.won) throw refusal.alreadyClosed(closed.call);
      return { call: closed.call };
    }
    const { pending, call: after, votes } = await this.closer.vote(call.call_id, vote);
    if (!pending) throw refusal.alreadyClosed(after);
    const seen = new Set(earlier.map((v) => v.voter)).add(who.id);
    return votes.every((v) => seen.has(v.voter)) ? { call: after } : { call: after, unseen: true };
  }

  async #withdraw(call: FrozenCall, answer: PolicyCheckReply): Promise<never> {
    const { won, call: after } = await this.closer.close(call.call_id, {
      status: 'withdrawn',
      by: null,
      cause: 'policy-denied',
      decidedUnder: answer.policyVersion,
      reason: null,
    });
    throw won ? refusal.withdrawn(after, answer) : refusal.alreadyClosed(after);
  }
}

/** What the person is in the call's space at this moment: policy was asked when they were let in. */
function voterOf(who: Identity, call: FrozenCall): CastVote {
  const place = placeIn(call.space_id, who);
  if (place === null) throw refusal.noSuchCall();
  return { by: who.id, role: place.role, groups: [...place.groups] };
}
