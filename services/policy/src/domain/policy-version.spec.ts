import { USUAL_REQUIREMENT } from '@holdpoint/contracts';
import { expect, test } from '@jest/globals';
import { policyVersion } from './policy-version.js';
import {
  BUILT_IN_RULES,
  EXPIRES_AFTER_SECONDS,
  NO_SPACE_POLICY,
  RATE_LIMIT,
  type Rule,
  type RuleSet,
} from './rules.js';

const rules: RuleSet = {
  builtin: BUILT_IN_RULES,
  operator: [{ origin: 'operator', tool: 'Mail', action: 'send', verdict: 'deny' }],
  fallback: null,
  mode: 'enforce',
  expiresAfterSeconds: EXPIRES_AFTER_SECONDS,
  rateLimit: RATE_LIMIT,
};
const version = (r: RuleSet, space = NO_SPACE_POLICY) => policyVersion(r, space, (text) => text);

test('everything that a decision is made from changes the version, and nothing else does', () => {
  const [first] = rules.operator;
  const variants = [
    version(rules),
    version({ ...rules, mode: 'log-only' }),
    version({ ...rules, fallback: { verdict: 'approve' } }),
    version({ ...rules, expiresAfterSeconds: 60 }),
    version({ ...rules, rateLimit: { calls: 1, seconds: 60 } }),
    version({ ...rules, fallback: { verdict: 'approve', loosenable: true } }),
    version({ ...rules, builtin: [] }),
    version({ ...rules, operator: [] }),
    ...(['server', 'agent', 'reason'] as const).map((field) =>
      version({ ...rules, operator: [{ ...(first as Rule), [field]: 'x' }] }),
    ),
    ...[{ loosenable: true }, { requirement: USUAL_REQUIREMENT }, { expiresAfterSeconds: 60 }].map((terms) =>
      version({ ...rules, operator: [{ ...(first as Rule), ...terms }] }),
    ),
    version(rules, { ...NO_SPACE_POLICY, revision: 1 }),
    version(rules, { ...NO_SPACE_POLICY, rules: [{ origin: 'space', verdict: 'approve' }] }),
    version(rules, { ...NO_SPACE_POLICY, halted: 'space' }),
    version(rules, { ...NO_SPACE_POLICY, allowDestructive: [{ server: 'builtin', tool: 'FileRW', action: null }] }),
  ];
  expect(new Set(variants).size).toBe(variants.length);
  expect(version({ ...rules, operator: [...rules.operator] })).toBe(variants[0]);
});
