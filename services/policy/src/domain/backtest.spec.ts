import type { Verdict } from '@holdpoint/contracts';
import { expect, test } from '@jest/globals';
import { Comparison, type Judged, Rejudging } from './backtest.js';
import type { Call, ToolFacts } from './call.js';
import { decide } from './decide.js';
import { BUILT_IN_RULES, NO_SPACE_POLICY, type Rule, type RuleSet } from './rules.js';

const operator = (tool: string, verdict: Verdict, more: Partial<Rule> = {}): Rule => ({
  origin: 'operator',
  tool,
  verdict,
  ...more,
});
const rulesOf = (...rules: Rule[]): RuleSet => ({
  builtin: BUILT_IN_RULES,
  operator: rules,
  fallback: null,
  mode: 'enforce',
  expiresAfterSeconds: 60,
  rateLimit: { calls: 30, seconds: 60 },
});
const OLD = rulesOf(operator('Mail', 'approve'));
const NEW = rulesOf(operator('Mail', 'auto', { action: 'send' }), operator('get', 'auto', { server: 'git' }));

/** The tools as their registry has them; the calls name what they declare, and what they do not. */
const TOOLS: Record<string, ToolFacts | null> = {
  Mail: { origin: 'builtin', scope: 'user', hint: 'write', actions: ['send', 'read'] },
  Clock: { origin: 'builtin', scope: 'user', hint: 'read', actions: [] },
  Files: { origin: 'builtin', scope: 'user', hint: 'destructive', actions: ['purge'] },
  Admin: { origin: 'builtin', scope: 'admin', hint: 'write', actions: ['send'] },
  get: { origin: 'foreign', scope: 'user', hint: 'read', actions: [] },
  Nothing: null,
};

test('from what was kept of a call, other rules give the verdict that they would have given then', () => {
  const again = new Rejudging(NEW, NO_SPACE_POLICY);
  let changed = 0;
  for (const [tool, facts] of Object.entries(TOOLS))
    for (const action of ['send', 'Send', 'purge', 'other', null])
      for (const readable of [true, false])
        for (const exhausted of [false, true]) {
          const server = tool === 'get' ? 'git' : 'builtin';
          const content = { readable, flags: readable ? ['injection-marker'] : ['content-unreadable'] };
          const call: Call = { agent: 'assistant', server, tool, action, content };
          const { reason, flags, verdict } = decide(call, facts, OLD, NO_SPACE_POLICY, exhausted);
          const stated = facts ?? { origin: 'builtin' as const, scope: 'user' as const, hint: 'write' as const };
          const kept: Judged = {
            ...call,
            origin: stated.origin,
            scope: stated.scope,
            hint: stated.hint,
            flags,
            reason,
          };
          // A call that was refused by a rule was not counted, so the limit stopped it only if that is its reason.
          const limited = reason === 'rate-limit-exceeded';
          const now = decide(call, facts, NEW, NO_SPACE_POLICY, limited).verdict;
          expect([call, again.verdictOn(kept), again.verdictOn(kept)]).toEqual([call, now, now]);
          if (now !== verdict) changed += 1;
        }
  expect(changed).toBeGreaterThan(1);
});

test('halts of now and of then are no rules', () => {
  const again = new Rejudging(NEW, { ...NO_SPACE_POLICY, halted: 'space' });
  const call = { agent: 'a', server: 'builtin', tool: 'Mail', action: 'send', flags: [], reason: 'halted' };
  expect(again.verdictOn({ ...call, origin: 'builtin', scope: 'user', hint: 'write' })).toBe('auto');
});

test('names of tools are a model’s choice: beyond 500 kinds of change calls are counted and not listed', () => {
  const found = new Comparison(1);
  for (let n = 0; n < 700; n++)
    for (const id of ['a', 'b'])
      found.add(
        `${id}${n}`,
        {
          ...{ agent: 'a', server: 'git', tool: `t${n}`, action: null, origin: 'foreign', scope: 'user', hint: 'read' },
          flags: [],
          reason: 'rule',
        },
        'auto',
        'deny',
      );
  expect(found.counts).toEqual({ judged: 1400, changed: 1400, withoutFacts: 0, unreadable: 0 });
  expect([found.changes.length, found.unlisted]).toEqual([500, 400]);
  expect(found.changes[0]).toMatchObject({ calls: 2, samples: ['a0'] });
});
