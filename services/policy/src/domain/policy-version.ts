import type { Rule, RuleSet, SpacePolicy } from './rules.js';

/**
 * Digest of all that a decision is made from besides the call: two decisions with one version were made by the same
 * rules. `hash` is SHA-256 in lower-case hex.
 */
export function policyVersion(rules: RuleSet, space: SpacePolicy, hash: (text: string) => string): string {
  return hash(
    JSON.stringify([
      'holdpoint.policy.v1',
      rules.mode,
      rules.fallback,
      rules.expiresAfterSeconds,
      [rules.rateLimit.calls, rules.rateLimit.seconds],
      rules.builtin.map(fields),
      rules.operator.map(fields),
      space.halted,
      space.allowDestructive.map((a) => [a.server, a.tool, a.action]),
    ]),
  );
}

const fields = (r: Rule) => [r.server ?? null, r.tool, r.action ?? null, r.agent ?? null, r.verdict, r.reason ?? null];
