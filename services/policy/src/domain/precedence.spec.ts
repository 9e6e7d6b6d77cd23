import type { ApprovalRequirement, Verdict } from '@holdpoint/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decide } from './decide.js';
import {
  BUILT_IN_RULES,
  type Fallback,
  NO_SPACE_POLICY,
  RATE_LIMIT,
  type Rule,
  type RuleSet,
  type Saying,
  type SpaceRule,
  stricter,
} from './rules.js';

const DAY = 86_400;
const VERDICTS = ['auto', 'approve', 'deny'] as const;

interface Call {
  server?: string;
  tool: string;
  action: string | null;
}
const SEND: Call = { tool: 'Mail', action: 'send' };
const CREATE: Call = { tool: 'Calendar', action: 'create' };
const ISSUE: Call = { server: 'github', tool: 'get_issue', action: null };

const ruleSet = (operator: Rule[], fallback: Fallback | null = null): RuleSet => ({
  builtin: BUILT_IN_RULES,
  operator,
  fallback,
  mode: 'enforce',
  expiresAfterSeconds: 3 * DAY,
  rateLimit: RATE_LIMIT,
});

const judge = (c: Call, rules: RuleSet, space: SpaceRule[]) =>
  decide(
    { agent: 'assistant', server: 'builtin', content: { readable: true, flags: [] }, ...c },
    {
      origin: c.server === undefined ? 'builtin' : 'foreign',
      scope: 'user',
      hint: 'write',
      actions: c.action === null ? [] : [c.action],
    },
    rules,
    { ...NO_SPACE_POLICY, rules: space },
  );

/** `server/Tool.action@agent`, all but the tool may be missing; `default` is no tool at all. */
function naming(written: string): Omit<SpaceRule, 'origin' | 'verdict'> {
  const [, server, tool, action, agent] = /^(?:(\w+)\/)?(\w+)(?:\.(\w+))?(?:@(\w+))?$/.exec(written) ?? [];
  return {
    ...(server === undefined ? {} : { server }),
    ...(tool === undefined || tool === 'default' ? {} : { tool }),
    ...(action === undefined ? {} : { action }),
    ...(agent === undefined ? {} : { agent }),
  };
}
const space = (written: string, says: Saying): SpaceRule => ({ origin: 'space', ...naming(written), ...says });
const operator = (written: string, verdict: Verdict, more: Partial<Rule> = {}): Rule => ({
  origin: 'operator',
  ...naming(written),
  tool: naming(written).tool ?? '',
  verdict,
  ...more,
});
const loosenable = { loosenable: true };

/** Rows: the space's one rule, then what becomes of the call when it says auto, approve, deny. */
const GRIDS: [string, Call, RuleSet, string][] = [
  [
    'a built-in hold of the action',
    SEND,
    ruleSet([]),
    `Mail.send              auto    approve deny
     Mail.send@assistant    auto    approve deny
     builtin/Mail.send      auto    approve deny
     Mail                   approve approve deny
     Mail@assistant         approve approve deny
     default                approve approve deny
     default@assistant      approve approve deny
     Mail.send@other        approve approve approve
     Mail.read_inbox        approve approve approve
     FTP.upload             approve approve approve
     remote/Mail.send       approve approve approve`,
  ],
  [
    'nothing but the default of the product',
    CREATE,
    ruleSet([]),
    `Calendar.create        auto    approve deny
     Calendar               auto    approve deny
     default                auto    approve deny
     default@assistant      auto    approve deny
     default@other          auto    auto    auto
     Calendar.create@other  auto    auto    auto`,
  ],
  [
    'an operator’s hold of the action',
    SEND,
    ruleSet([operator('Mail.send', 'approve')]),
    `Mail.send              approve approve deny
     Mail.send@assistant    approve approve deny
     builtin/Mail.send@assistant approve approve deny
     Mail                   approve approve deny
     default                approve approve deny`,
  ],
  [
    'an operator’s refusal of the action',
    SEND,
    ruleSet([operator('Mail.send', 'deny')]),
    `Mail.send              deny    deny    deny
     Mail.send@assistant    deny    deny    deny
     builtin/Mail.send@assistant deny deny  deny
     Mail                   deny    deny    deny
     default@assistant      deny    deny    deny`,
  ],
  [
    'an operator’s refusal of the tool',
    SEND,
    ruleSet([operator('Mail', 'deny')]),
    `Mail.send              deny    deny    deny
     Mail.send@assistant    deny    deny    deny
     Mail                   deny    deny    deny`,
  ],
  [
    'an operator’s leave',
    SEND,
    ruleSet([operator('Mail.send', 'auto')]),
    `Mail.send              auto    approve deny
     Mail                   auto    approve deny
     default                auto    approve deny
     Mail.send@assistant    auto    approve deny
     Mail.send@other        auto    auto    auto`,
  ],
  [
    'an operator’s leave for the tool, which loosens no built-in hold',
    SEND,
    ruleSet([operator('Mail', 'auto')]),
    `Mail.send              auto    approve deny
     Mail                   approve approve deny
     default                approve approve deny`,
  ],
  [
    'an operator’s hold that may be loosened',
    SEND,
    ruleSet([operator('Mail.send', 'approve', loosenable)]),
    `Mail.send              auto    approve deny
     Mail.send@assistant    auto    approve deny
     Mail                   approve approve deny
     Mail@assistant         approve approve deny
     default                approve approve deny`,
  ],
  [
    'an operator’s refusal that may be loosened',
    SEND,
    ruleSet([operator('Mail.send', 'deny', loosenable)]),
    `Mail.send              auto    approve deny
     Mail.send@assistant    auto    approve deny
     Mail                   deny    deny    deny
     Mail.send@other        deny    deny    deny`,
  ],
  [
    'an operator’s refusal of the tool that may be loosened, over a built-in hold',
    SEND,
    ruleSet([operator('Mail', 'deny', loosenable)]),
    `Mail.send              auto    approve deny
     Mail                   approve approve deny
     Mail@assistant         approve approve deny
     default                deny    deny    deny
     default@assistant      deny    deny    deny`,
  ],
  [
    'an operator’s hold for the agent that may be loosened',
    SEND,
    ruleSet([operator('Mail.send@assistant', 'approve', loosenable)]),
    `Mail.send@assistant    auto    approve deny
     Mail.send              approve approve deny
     Mail@assistant         approve approve deny
     default                approve approve deny`,
  ],
  [
    'two operator’s rules that cannot be compared, of which one may be loosened',
    SEND,
    ruleSet([operator('Mail.send', 'approve', loosenable), operator('Mail@assistant', 'approve')]),
    `Mail.send@assistant    approve approve deny
     Mail.send              approve approve deny`,
  ],
  [
    'two operator’s rules that cannot be compared, both of which may be loosened',
    SEND,
    ruleSet([operator('Mail.send', 'approve', loosenable), operator('Mail@assistant', 'deny', loosenable)]),
    `Mail.send@assistant    auto    approve deny
     Mail.send              deny    deny    deny
     Mail@assistant         approve approve deny`,
  ],
  [
    'an operator’s default that refuses',
    CREATE,
    ruleSet([], { verdict: 'deny' }),
    `Calendar.create        deny    deny    deny
     Calendar.create@assistant deny deny    deny
     default                deny    deny    deny`,
  ],
  [
    'an operator’s default that may be loosened',
    CREATE,
    ruleSet([], { verdict: 'deny', loosenable: true }),
    `Calendar.create        auto    approve deny
     Calendar               auto    approve deny
     default                auto    approve deny
     default@other          deny    deny    deny`,
  ],
  [
    'an operator’s default that may be loosened, beside a built-in hold',
    SEND,
    ruleSet([], { verdict: 'approve', loosenable: true }),
    `Mail.send              auto    approve deny
     Mail                   approve approve deny
     default                approve approve deny`,
  ],
  [
    'an operator’s default, beside a built-in hold',
    SEND,
    ruleSet([], { verdict: 'approve' }),
    `Mail.send              approve approve deny
     Mail                   approve approve deny`,
  ],
  [
    'a foreign tool that the operator does not name',
    ISSUE,
    ruleSet([]),
    `github/get_issue       auto    approve deny
     github/get_issue@assistant auto approve deny
     get_issue              approve approve deny
     default                approve approve deny
     evil/get_issue         approve approve approve`,
  ],
  [
    'a foreign tool that the operator holds',
    ISSUE,
    ruleSet([operator('github/get_issue', 'approve')]),
    `github/get_issue       approve approve deny
     get_issue              approve approve deny`,
  ],
  [
    'a foreign tool that the operator holds, and that may be loosened',
    ISSUE,
    ruleSet([operator('github/get_issue', 'approve', loosenable)]),
    `github/get_issue       auto    approve deny
     get_issue              approve approve deny
     default                approve approve deny`,
  ],
];

describe.each(GRIDS)('a space against %s', (_, called, rules, grid) => {
  const rows = grid
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  test.each(rows)('%s: auto → %s, approve → %s, deny → %s', (written, ...expected) => {
    const verdicts = VERDICTS.map((verdict) => judge(called, rules, [space(written, { verdict })]).verdict);
    expect(verdicts).toEqual(expected);
  });
});

test('the tables hold at least 150 decisions', () => {
  const decisions = GRIDS.reduce((n, [, , , grid]) => n + VERDICTS.length * grid.trim().split('\n').length, 0);
  expect(decisions).toBeGreaterThanOrEqual(150);
});

describe('each precedence pair of one author’s rules: the one that names more counts, of two that cannot be compared the stricter', () => {
  const RULES = ['Calendar', 'Calendar.create'].flatMap((tool) =>
    ['', 'builtin/'].flatMap((server) => ['', '@assistant'].map((agent) => `${server}${tool}${agent}`)),
  );
  const pairsOf = (names: string[]) => names.flatMap((a, i) => names.slice(i + 1).map((b) => [a, b] as const));
  const namesMore = (a: string, b: string) => Object.keys(naming(b)).every((field) => field in naming(a));
  const counts = (a: string, b: string, says: readonly [Verdict, Verdict]): Verdict => {
    if (namesMore(a, b)) return says[0];
    return namesMore(b, a) ? says[1] : 'deny';
  };
  const SAYINGS = [
    ['auto', 'deny'],
    ['deny', 'auto'],
  ] as const;

  test.each(pairsOf(RULES))('the operator’s %s and %s', (a, b) => {
    for (const says of SAYINGS) {
      const both = [operator(a, says[0]), operator(b, says[1])];
      for (const order of [both, both.toReversed()])
        expect(judge(CREATE, ruleSet(order), []).verdict).toBe(counts(a, b, says));
    }
  });

  test.each(pairsOf(['default', 'default@assistant', ...RULES]))('a space’s %s and %s', (a, b) => {
    for (const says of SAYINGS) {
      const both = [space(a, { verdict: says[0] }), space(b, { verdict: says[1] })];
      for (const order of [both, both.toReversed()])
        expect(judge(CREATE, ruleSet([]), order).verdict).toBe(counts(a, b, says));
    }
  });

  test.each(RULES)('the operator’s %s and the operator’s default', (rule) => {
    expect(judge(CREATE, ruleSet([operator(rule, 'auto')], { verdict: 'deny' }), []).verdict).toBe('auto');
    expect(judge(CREATE, ruleSet([operator(rule, 'deny')], { verdict: 'auto' }), []).verdict).toBe('deny');
  });
});

describe('several rules of a space', () => {
  test.each<[string, [string, Verdict][], Verdict, string]>([
    [
      'the action before the tool',
      [
        ['Mail.send', 'auto'],
        ['Mail', 'deny'],
      ],
      'auto',
      'space: Mail.send',
    ],
    [
      'the tool before the default',
      [
        ['Mail', 'approve'],
        ['default', 'deny'],
      ],
      'approve',
      'builtin: Mail.send',
    ],
    [
      'the agent before everybody',
      [
        ['Mail.send@assistant', 'deny'],
        ['Mail.send', 'auto'],
      ],
      'deny',
      'space: Mail.send for agent assistant',
    ],
    [
      'the stricter of two that cannot be compared',
      [
        ['Mail.send', 'auto'],
        ['Mail@assistant', 'deny'],
      ],
      'deny',
      'space: Mail for agent assistant',
    ],
    [
      'a default for the agent and a rule for the action',
      [
        ['Mail.send', 'auto'],
        ['default@assistant', 'approve'],
      ],
      'approve',
      'space: default for agent assistant',
    ],
  ])('%s', (_, rules, verdict, rule) => {
    for (const order of [rules, rules.toReversed()])
      expect(
        judge(
          SEND,
          ruleSet([]),
          order.map(([written, v]) => space(written, { verdict: v })),
        ),
      ).toMatchObject({ verdict, rule });
  });
});

describe('the terms of a release', () => {
  const votes = (n: number): ApprovalRequirement => ({
    roles: ['owner'],
    users: [],
    groups: [],
    votes: n,
    fromGroups: 0,
    requesterExcluded: false,
  });
  const held = (n: number, expiresAfterSeconds?: number): Saying => ({
    verdict: 'approve',
    requirement: votes(n),
    expiresAfterSeconds,
  });

  test('nobody says: the usual ones', () => {
    expect(judge(SEND, ruleSet([]), [])).toMatchObject({ verdict: 'approve', expiresAfterSeconds: 3 * DAY });
    expect(judge(SEND, ruleSet([]), []).requirements).toBeUndefined();
  });
  test('of operator and space both hold, and the shorter time', () => {
    const rules = ruleSet([{ origin: 'operator', tool: 'Mail', action: 'send', ...held(2, 2 * DAY) }]);
    expect(judge(SEND, rules, [space('Mail', held(3, DAY))])).toMatchObject({
      requirements: [votes(2), votes(3)],
      expiresAfterSeconds: DAY,
    });
    expect(judge(SEND, rules, [space('Mail', held(2, 9 * DAY))])).toMatchObject({
      requirements: [votes(2)],
      expiresAfterSeconds: 2 * DAY,
    });
  });
  test('a rule of the operator may give more time than the general setting, a space may not', () => {
    const week = ruleSet([operator('Mail.send', 'approve', { expiresAfterSeconds: 7 * DAY })]);
    expect(judge(SEND, week, []).expiresAfterSeconds).toBe(7 * DAY);
    expect(judge(SEND, ruleSet([]), [space('Mail.send', held(1, 7 * DAY))]).expiresAfterSeconds).toBe(3 * DAY);
  });
  test('of what may be loosened still hold while the space only holds too', () => {
    const rules = ruleSet([{ origin: 'operator', tool: 'Mail', action: 'send', ...held(2), loosenable: true }]);
    expect(judge(SEND, rules, [space('Mail.send', held(1))]).requirements).toEqual([votes(2), votes(1)]);
  });
  test('of a default hold too, beside what is built in', () => {
    expect(judge(SEND, ruleSet([], held(2)), []).requirements).toEqual([votes(2)]);
  });
  test('of every action that the call could be taken for hold together', () => {
    const rules = ruleSet([
      { origin: 'operator', tool: 'Mail', action: 'send', ...held(2, 2 * DAY) },
      { origin: 'operator', tool: 'Mail', action: 'forward', ...held(3, DAY) },
    ]);
    expect(judge({ tool: 'Mail', action: null }, { ...rules }, []).requirements).toBeUndefined();
    const unnamed = decide(
      { agent: 'assistant', server: 'builtin', tool: 'Mail', action: null, content: { readable: true, flags: [] } },
      { origin: 'builtin', scope: 'user', hint: 'write', actions: null },
      rules,
      NO_SPACE_POLICY,
    );
    expect(unnamed).toMatchObject({ verdict: 'approve', expiresAfterSeconds: DAY });
    expect(unnamed.requirements).toEqual(expect.arrayContaining([votes(2), votes(3)]));
  });
  test('that are too many to be met are a refusal, not fewer of them', () => {
    const rules = ruleSet(
      Array.from({ length: 9 }, (_, i) => ({
        origin: 'operator' as const,
        tool: 'Mail',
        action: `act${i}`,
        ...held(i + 1),
      })),
    );
    const unnamed = decide(
      { agent: 'assistant', server: 'builtin', tool: 'Mail', action: null, content: { readable: true, flags: [] } },
      { origin: 'builtin', scope: 'user', hint: 'write', actions: null },
      rules,
      NO_SPACE_POLICY,
    );
    expect(unnamed).toMatchObject({ verdict: 'deny', reason: 'requirements-unclear' });
  });
});

test('no rules of a space ever loosen what the operator has not marked', () => {
  const written = fc.constantFrom(
    'Mail',
    'Mail.send',
    'Mail@assistant',
    'Mail.send@assistant',
    'builtin/Mail.send',
    'Calendar',
  );
  const verdict = fc.constantFrom<Verdict>(...VERDICTS);
  const cases = fc.record({
    operator: fc.uniqueArray(fc.record({ written, verdict }), { maxLength: 4, selector: (r) => r.written }),
    fallback: verdict,
    space: fc.array(
      fc.record({ written: fc.oneof(written, fc.constantFrom('default', 'default@assistant')), verdict }),
      { maxLength: 5 },
    ),
  });
  fc.assert(
    fc.property(cases, (c) => {
      // without built-in rules nothing at all may be loosened
      const rules = {
        ...ruleSet(
          c.operator.map((r) => operator(r.written, r.verdict)),
          { verdict: c.fallback },
        ),
        builtin: [],
      };
      const said = c.space.map((r) => space(r.written, { verdict: r.verdict }));
      expect(stricter(judge(SEND, rules, []).verdict, judge(SEND, rules, said).verdict)).toBe(false);
    }),
    { numRuns: 2_000, seed: 20_300_101 },
  );
});
