import type { Verdict } from '@holdpoint/contracts';
import { describe, expect, test } from '@jest/globals';
import type { Call, ToolFacts } from './call.js';
import { decide } from './decide.js';
import { explain } from './explain.js';
import { BUILT_IN_RULES, NO_SPACE_POLICY, type Rule, type RuleSet, type SpacePolicy, type SpaceRule } from './rules.js';

const operator = (tool: string, verdict: Verdict, more: Partial<Rule> = {}): Rule => ({
  origin: 'operator',
  tool,
  verdict,
  ...more,
});
const ofSpace = (verdict: Verdict, more: Partial<SpaceRule> = {}): SpaceRule => ({ origin: 'space', verdict, ...more });
const rulesOf = (rules: Rule[], more: Partial<RuleSet> = {}): RuleSet => ({
  builtin: BUILT_IN_RULES,
  operator: rules,
  fallback: null,
  mode: 'enforce',
  expiresAfterSeconds: 60,
  rateLimit: { calls: 30, seconds: 60 },
  ...more,
});
const call = (tool: string, action: string | null, more: Partial<Call> = {}): Call => ({
  agent: 'assistant',
  server: 'builtin',
  tool,
  action,
  content: { readable: true, flags: [] },
  ...more,
});
const facts: ToolFacts = { origin: 'builtin', scope: 'user', hint: 'write', actions: null };

const RULES: RuleSet[] = [
  rulesOf([]),
  rulesOf([operator('Mail', 'auto', { action: 'send' }), operator('Mail', 'deny', { agent: 'assistant' })]),
  rulesOf([operator('Mail', 'auto'), operator('send', 'auto', { server: 'git' })], { fallback: { verdict: 'deny' } }),
  rulesOf([operator('Mail', 'approve', { loosenable: true })], { mode: 'log-only' }),
];
const SPACES: SpacePolicy[] = [
  NO_SPACE_POLICY,
  { ...NO_SPACE_POLICY, halted: 'agent' },
  { ...NO_SPACE_POLICY, rules: [ofSpace('auto', { tool: 'Mail', action: 'send' }), ofSpace('approve')] },
  { ...NO_SPACE_POLICY, allowDestructive: [{ server: 'builtin', tool: 'Mail', action: 'send' }] },
];
const CALLS = [
  call('Mail', 'send'),
  call('Mail', null),
  call('mail', 'Send'),
  call('Clock', null),
  call('send', null, { server: 'git' }),
  call('Mail', 'send', { content: { readable: false, flags: ['content-unreadable'] } }),
];
const FACTS: (ToolFacts | null)[] = [
  facts,
  null,
  { ...facts, scope: 'admin' },
  { ...facts, hint: 'destructive', actions: ['send'] },
  { ...facts, origin: 'foreign', actions: [] },
];

test('explain decides as decide does, names every rule once, and exactly one that decides', () => {
  let asked = 0;
  for (const rules of RULES)
    for (const space of SPACES)
      for (const c of CALLS)
        for (const tool of FACTS)
          for (const exhausted of [false, true]) {
            const { decision, deciding, tried, readings } = explain(c, tool, rules, space, exhausted);
            expect(decision).toEqual(decide(c, tool, rules, space, exhausted));
            const barred = ['not-found', 'halted', 'admin-scope-not-invokable'].includes(decision.reason);
            expect(readings.length === 0).toBe(barred);
            expect(tried.filter((t) => t.fate === 'decides').map((t) => t.rule)).toEqual(
              deciding === null ? [] : [deciding.rule],
            );
            const named = rules.operator.length + rules.builtin.length + space.rules.length;
            if (!barred) expect(tried.length).toBeGreaterThanOrEqual(named);
            if (['rule', 'default', 'foreign-tool'].includes(decision.reason))
              expect(deciding?.rule).toBe(decision.rule);
            asked += 1;
          }
  expect(asked).toBe(RULES.length * SPACES.length * CALLS.length * FACTS.length * 2);
});

describe('what became of each rule', () => {
  const fates = (rules: Rule[], space: SpaceRule[] = [], more: Partial<RuleSet> = {}) =>
    explain(call('Mail', 'send'), facts, rulesOf(rules, more), { ...NO_SPACE_POLICY, rules: space })
      .tried.filter((t) => t.mismatch === null || t.origin !== 'builtin')
      .map((t) => [t.rule, t.fate, t.mismatch ?? t.by]);

  test('a narrower rule silences, the operator silences a built-in one, others do not match', () => {
    expect(
      fates([
        operator('Mail', 'deny'),
        operator('Mail', 'auto', { action: 'send' }),
        operator('Mail', 'deny', { action: 'read' }),
        operator('Clock', 'deny'),
        operator('Mail', 'deny', { agent: 'cleaner' }),
        operator('Mail', 'deny', { server: 'git' }),
      ]),
    ).toEqual([
      ['operator: Mail', 'silenced', 'operator: Mail.send'],
      ['operator: Mail.send', 'decides', null],
      ['operator: Mail.read', 'no-match', 'action'],
      ['operator: Clock', 'no-match', 'tool'],
      ['operator: Mail for agent cleaner', 'no-match', 'agent'],
      ['operator: Mail on git', 'no-match', 'server'],
      ['builtin: Mail.send', 'silenced', 'operator: Mail.send'],
    ]);
  });

  test('a space loosens what it may, and a stricter rule decides over a milder one', () => {
    const auto = ofSpace('auto', { tool: 'Mail', action: 'send' });
    expect(fates([], [auto])).toEqual([
      ['builtin: Mail.send', 'loosened', 'space: Mail.send'],
      ['space: Mail.send', 'decides', null],
      ['builtin: default', 'agrees', 'space: Mail.send'],
    ]);
    expect(fates([operator('Mail', 'deny')], [auto])).toEqual([
      ['operator: Mail', 'decides', null],
      ['builtin: Mail.send', 'loosened', 'space: Mail.send'],
      ['space: Mail.send', 'milder', 'operator: Mail'],
    ]);
  });
});
