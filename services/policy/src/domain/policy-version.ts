import type { Rule, RuleSet, Saying, SpacePolicy, SpaceRule } from './rules.js';

/**
 * Digest of all that a decision is made from besides the call: two decisions with one version were made by the same
 * rules. `hash` is SHA-256 in lower-case hex.
 */
export function policyVersion(rules: RuleSet, space: SpacePolicy, hash: (text: string) => string): string {
  return hash(
    JSON.stringify([
      'holdpoint.policy.v2',
      rules.mode,
      rules.fallback === null ? null : [...saying(rules.fallback), rules.fallback.loosenable === true],
      rules.expiresAfterSeconds,
      [rules.rateLimit.calls, rules.rateLimit.seconds],
      rules.builtin.map(fields),
      rules.operator.map(fields),
      space.revision,
      space.halted,
      space.rules.map(fields),
      space.allowDestructive.map((a) => [a.server, a.tool, a.action]),
    ]),
  );
}

const saying = (s: Saying) => [
  s.verdict,
  s.reason ?? null,
  s.expiresAfterSeconds ?? null,
  // spelled out, so that the order in which somebody wrote the fields means nothing
  s.requirement === undefined
    ? null
    : [
        s.requirement.roles,
        s.requirement.users,
        s.requirement.groups,
        s.requirement.votes,
        s.requirement.fromGroups,
        s.requirement.requesterExcluded,
      ],
];

const fields = (r: Rule | SpaceRule) => [
  r.server ?? null,
  r.tool ?? null,
  r.action ?? null,
  r.agent ?? null,
  r.origin !== 'space' && r.loosenable === true,
  ...saying(r),
];
