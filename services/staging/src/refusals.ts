import {
  type ApprovalRequirement,
  type CastVote,
  type PolicyCheckReply,
  type Principal,
  requirementInWords,
} from '@holdpoint/contracts';
import { Refusal } from '@holdpoint/runtime';
import { mayVoteOnAny } from './domain/tally.js';
import type { FrozenCall } from './store/frozen-calls.js';

const name = (c: FrozenCall): string => `${c.space_id}#${c.number}`;
const at = (moment: Date): string => moment.toISOString();

export const noSuchCall = () =>
  new Refusal('not-found', 'staging.not-found', 'There is no such held call, or you are not a member of its space.');

/** Says who may. Whoever a call acts for learns that this alone stands in their way. */
export function mayNotVote(
  c: FrozenCall,
  all: readonly ApprovalRequirement[],
  voter: CastVote,
  requester: Principal,
): Refusal {
  const needed = `${name(c)} needs ${all.map(requirementInWords).join(', and ')}`;
  const excluded = mayVoteOnAny(
    all.map((r) => ({ ...r, requesterExcluded: false })),
    voter,
    requester,
  );
  return excluded
    ? new Refusal(
        'forbidden',
        'staging.requester-excluded',
        `${name(c)} was proposed on your behalf, so you can neither release nor reject it: ${needed}. Ask one of them, or withdraw it.`,
      )
    : new Refusal(
        'forbidden',
        'auth.role-missing',
        `You are ${voter.role} of this space and your vote is not asked for: ${needed}. Ask one of them.`,
      );
}

export const digestMismatch = (c: FrozenCall) =>
  new Refusal(
    'conflict',
    'staging.digest-mismatch',
    `The digest is not that of ${name(c)}, so you decided on something else than what would run. Show the call again and decide on what you see.`,
  );

/** Somebody or something was first: the loser learns who and when. */
export function alreadyClosed(c: FrozenCall): Refusal {
  const decidedAt = c.decided_at === null ? null : at(c.decided_at);
  const decidedBy = c.decided_by === null ? null : { kind: 'person', id: c.decided_by };
  const extras = { callStatus: c.status, decidedBy, decidedAt };
  if (c.status === 'expired')
    return new Refusal(
      'conflict',
      'staging.call-expired',
      `${name(c)} expired at ${at(c.expires_at)} before anybody decided. Nothing ran; if it is still wanted, the agent has to propose it again.`,
      { extras },
    );
  const by = c.decided_by === null ? 'because policy denies it' : `by ${c.decided_by}`;
  return new Refusal(
    'conflict',
    'staging.call-closed',
    `${name(c)} was ${c.status} ${by} at ${decidedAt}. A decision is final: nothing is left to decide here.`,
    { extras },
  );
}

export const halted = (c: FrozenCall, answer: PolicyCheckReply) =>
  new Refusal(
    'conflict',
    'staging.halted',
    `Calls are halted (${answer.rule}), so nothing was decided and ${name(c)} still waits. Approve it once the halt is lifted, or reject it.`,
    { extras: { rule: answer.rule, policyVersion: answer.policyVersion } },
  );

export const answersRunOut = (c: FrozenCall) =>
  new Refusal(
    'unavailable',
    'staging.policy-unavailable',
    `Policy's answers on ${name(c)} ran out before they could be acted upon, so nothing was decided and the call still waits. Approve it again in a moment; if that does not help, the database is slow, or the clocks of two database servers differ.`,
  );

export const withdrawn = (c: FrozenCall, answer: PolicyCheckReply) =>
  new Refusal(
    'conflict',
    'staging.call-withdrawn',
    `Policy denies this call by now (${answer.rule}), so ${name(c)} was withdrawn and nothing ran. If it should be possible, change the rule first; the agent then has to propose it again.`,
    {
      extras: {
        callStatus: c.status,
        reason: answer.reason,
        rule: answer.rule,
        policyVersion: answer.policyVersion,
        decidedAt: c.decided_at === null ? null : at(c.decided_at),
      },
    },
  );

export const contentDestroyed = (c: FrozenCall, cause: unknown) =>
  new Refusal(
    'gone',
    'staging.content-destroyed',
    `The content of ${name(c)} was erased on purpose, so it can neither be shown nor released, nor take a reason. Reject it without a reason.`,
    { cause },
  );

export const contentDamaged = (c: FrozenCall, cause: unknown) =>
  new Refusal(
    'conflict',
    'staging.content-damaged',
    `The content of ${name(c)} is not what was frozen, so it cannot be released. Reject it and tell the operator.`,
    { cause },
  );
