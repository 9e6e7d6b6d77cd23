import { type Hint, USUAL_REQUIREMENT, type Verdict } from '@holdpoint/contracts';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Call, ToolFacts } from './call.js';
import { decide } from './decide.js';
import {
  BUILT_IN_RULES,
  EXPIRES_AFTER_SECONDS,
  NO_SPACE_POLICY,
  RATE_LIMIT,
  type Rule,
  type RuleSet,
  type SpacePolicy,
  type SpaceRule,
  stricter,
} from './rules.js';
import { readingsOf, skeleton } from './spelling.js';

test('look-alike plain names share a skeleton, others do not', () => {
  expect(skeleton('SEND-Message')).toBe(skeleton('send_message'));
  expect(skeleton('De1ete')).toBe(skeleton('DeIete'));
  expect(skeleton('lоschen')).not.toBe(skeleton('löschen'));
  expect(skeleton('send')).not.toBe(skeleton('sent'));
});

test('a name that is neither plain nor known could be any; a known one is itself', () => {
  const known = ['send', 'löschen', 'read'];
  expect(readingsOf('sеnd', known)).toEqual(['sеnd', ...known]);
  expect(readingsOf('löschen', known)).toEqual(['löschen']);
  expect(readingsOf('list', known)).toEqual(['list']);
});

const TOOLS = ['Mail', 'FileRW', 'Database', 'Calendar'];
const ACTIONS = ['send', 'read_inbox', 'delete', 'purge_folder', 'insert', 'upload'];
const LOOK_ALIKES: Record<string, string> = { a: 'а', e: 'е', o: 'о', p: 'р', c: 'с', s: 'ѕ', i: 'і', d: 'ԁ', l: 'ⅼ' };

const verdicts = fc.constantFrom<Verdict>('auto', 'approve', 'deny');
const requirement = fc.constantFrom(
  undefined,
  ...[1, 2, 3].map((votes) => ({ ...USUAL_REQUIREMENT, votes, requesterExcluded: votes === 2 })),
);
const anyRule = fc.record({
  tool: fc.constantFrom(...TOOLS),
  action: fc.option(fc.constantFrom(...ACTIONS), { nil: undefined }),
  server: fc.constantFrom(undefined, 'builtin', 'remote'),
  agent: fc.constantFrom(undefined, undefined, 'a1', 'a2'),
  verdict: verdicts,
  requirement,
  expiresAfterSeconds: fc.constantFrom(undefined, 60, 3_600),
});
const rule: fc.Arbitrary<Rule> = fc
  .record({ said: anyRule, loosenable: fc.boolean() })
  .map(({ said, loosenable }) => ({ origin: 'operator' as const, ...said, loosenable }));
const spaceRule: fc.Arbitrary<SpaceRule> = fc
  .record({ said: anyRule, general: fc.nat(4) })
  .map(({ said, general }) => ({
    origin: 'space' as const,
    ...said,
    ...(general === 0 ? { tool: undefined, action: undefined, server: undefined } : {}),
  }));

/** Ways to write a name that a reader, or a careless parser, would take for the same. */
const mutations: ((name: string, at: number) => string | null)[] = [
  (n) => n.toUpperCase(),
  (n, at) => n.slice(0, at) + n.slice(at, at + 1).toUpperCase() + n.slice(at + 1),
  (n) => ` ${n}`,
  (n) => `${n} `,
  (n) => `${n}\t\n`,
  (n, at) => `${n.slice(0, at)} ${n.slice(at)}`,
  (n, at) => `${n.slice(0, at)}\u200b${n.slice(at)}`,
  (n, at) => `${n.slice(0, at)}\u0000${n.slice(at)}`,
  (n) => `\u202e${n}`,
  (n, at) => n.slice(0, at) + (LOOK_ALIKES[n[at] ?? ''] ?? 'е') + n.slice(at + 1),
  (n) => n.replace(/[!-~]/g, (ch) => String.fromCharCode(ch.charCodeAt(0) + 0xfee0)),
  (n) => n.replaceAll('_', '-'),
  (n) => n.replaceAll('_', ''),
  (n, at) => `${n.slice(0, at)}.${n.slice(at)}`,
  (n) => n.replaceAll('l', '1').replaceAll('o', '0'),
  (n, at) => `${n.slice(0, at + 1)}\u0301${n.slice(at + 1)}`,
  // not text at all: what the engine cannot read as a declared action reaches policy as none
  () => null,
];

test('pipefy/ai-toolkit#630, qwen-code#10199: no spelling of a declared action or tool gets a weaker verdict than the plain one', () => {
  const cases = fc.record({
    rules: fc.array(rule, { maxLength: 8 }),
    spaceRules: fc.array(spaceRule, { maxLength: 5 }),
    fallback: fc.option(verdicts, { nil: null }),
    tool: fc.constantFrom(...TOOLS),
    action: fc.constantFrom(...ACTIONS),
    agent: fc.constantFrom('a1', 'a2', 'a3'),
    origin: fc.constantFrom('builtin' as const, 'foreign' as const),
    hint: fc.constantFrom<Hint>('read', 'write', 'destructive'),
    optedIn: fc.boolean(),
    known: fc.boolean(),
    mutate: fc.constantFrom(...mutations),
    target: fc.constantFrom('action' as const, 'action' as const, 'tool' as const),
    at: fc.nat(12),
  });
  fc.assert(
    fc.property(cases, (c) => {
      const rules: RuleSet = {
        builtin: BUILT_IN_RULES,
        operator: c.rules,
        fallback: c.fallback === null ? null : { verdict: c.fallback },
        mode: 'enforce',
        expiresAfterSeconds: EXPIRES_AFTER_SECONDS,
        rateLimit: RATE_LIMIT,
      };
      const server = c.origin === 'builtin' ? 'builtin' : 'remote';
      const plain: Call = {
        agent: c.agent,
        server,
        tool: c.tool,
        action: c.action,
        content: { readable: true, flags: [] },
      };
      const facts: ToolFacts = { origin: c.origin, scope: 'user', hint: c.hint, actions: c.known ? ACTIONS : null };
      const space: SpacePolicy = {
        ...NO_SPACE_POLICY,
        rules: c.spaceRules,
        allowDestructive: c.optedIn ? [{ server, tool: c.tool, action: c.action }] : [],
      };
      const decisionOn = (call: Call) => decide(call, facts, rules, space);

      const mutant = c.mutate(plain[c.target] as string, c.at % c[c.target].length);
      if (mutant === null && c.target === 'tool') return;
      const [asked, answered] = [decisionOn(plain), decisionOn({ ...plain, [c.target]: mutant })];
      expect(stricter(asked.verdict, answered.verdict)).toBe(false);
      if (asked.verdict !== 'approve' || answered.verdict !== 'approve') return;
      expect(answered.requirements ?? []).toEqual(expect.arrayContaining(asked.requirements ?? []));
      expect(answered.expiresAfterSeconds).toBeLessThanOrEqual(asked.expiresAfterSeconds as number);
    }),
    { numRuns: 10_000, seed: 20_260_501 },
  );
});
