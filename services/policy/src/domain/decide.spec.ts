import { USUAL_REQUIREMENT, type Verdict } from '@holdpoint/contracts';
import { describe, expect, test } from '@jest/globals';
import type { Call, ToolFacts } from './call.js';
import { decide } from './decide.js';
import type { Reason } from './reason.js';
import {
  BUILT_IN_RULES,
  EXPIRES_AFTER_SECONDS,
  NO_SPACE_POLICY,
  RATE_LIMIT,
  type Rule,
  type RuleSet,
  type SpacePolicy,
} from './rules.js';

const call = (tool: string, action: string | null, more: Partial<Call> = {}): Call => ({
  agent: 'assistant',
  server: 'builtin',
  tool,
  action,
  content: { readable: true, flags: [] },
  ...more,
});
const builtinTool = (more: Partial<ToolFacts> = {}): ToolFacts => ({
  origin: 'builtin',
  scope: 'user',
  hint: 'write',
  actions: null,
  ...more,
});
const foreignTool = (more: Partial<ToolFacts> = {}): ToolFacts => builtinTool({ origin: 'foreign', ...more });
const operator = (tool: string, verdict: Verdict, more: Partial<Rule> = {}): Rule => ({
  origin: 'operator',
  tool,
  verdict,
  ...more,
});
const ruleSet = (rules: Rule[] = [], more: Partial<RuleSet> = {}): RuleSet => ({
  builtin: BUILT_IN_RULES,
  operator: rules,
  fallback: null,
  mode: 'enforce',
  expiresAfterSeconds: EXPIRES_AFTER_SECONDS,
  rateLimit: RATE_LIMIT,
  ...more,
});
const judge = (
  c: Call,
  rules: Rule[] | RuleSet = [],
  tool: ToolFacts | null = builtinTool(),
  space: SpacePolicy = NO_SPACE_POLICY,
  tooMany = false,
) => decide(c, tool, Array.isArray(rules) ? ruleSet(rules) : rules, space, tooMany);

describe('the built-in rules of seed 000', () => {
  test.each([
    ['Mail', 'send', 'approve'],
    ['Telegram', 'send_message', 'approve'],
    ['Database', 'insert', 'approve'],
    ['Database', 'upsert', 'approve'],
    ['FileRW', 'delete', 'approve'],
    ['FTP', 'upload', 'approve'],
    ['FTP', 'delete', 'approve'],
    ['Mail', 'read_inbox', 'auto'],
    ['FileRW', 'read', 'auto'],
    ['FileRW', 'write', 'auto'],
    ['Database', 'query', 'auto'],
    ['FTP', 'download', 'auto'],
    ['Calendar', 'create', 'auto'],
    ['Clock', null, 'auto'],
  ] as const)('%s.%s is %s', (tool, action, verdict) => {
    const decision = judge(call(tool, action));
    expect(decision).toMatchObject({ verdict, mode: 'enforce', flags: [] });
    expect(decision.rule).toBe(verdict === 'approve' ? `builtin: ${tool}.${action}` : 'builtin: default');
    expect(decision.expiresAfterSeconds).toBe(verdict === 'approve' ? EXPIRES_AFTER_SECONDS : undefined);
  });
});

describe('resolution', () => {
  test.each<[string, Rule[], Verdict, string]>([
    [
      'the operator loosens a built-in rule by naming the action',
      [operator('Mail', 'auto', { action: 'send' })],
      'auto',
      'operator: Mail.send',
    ],
    [
      'the operator tightens a built-in rule by naming the action',
      [operator('Mail', 'deny', { action: 'send' })],
      'deny',
      'operator: Mail.send',
    ],
    [
      'a general allow does not beat a specific built-in hold',
      [operator('Mail', 'auto')],
      'approve',
      'builtin: Mail.send',
    ],
    ['a general refusal beats a built-in hold', [operator('Mail', 'deny')], 'deny', 'operator: Mail'],
    [
      'the action beats the tool, stricter',
      [operator('Mail', 'auto'), operator('Mail', 'deny', { action: 'send' })],
      'deny',
      'operator: Mail.send',
    ],
    [
      'the action beats the tool, looser',
      [operator('Mail', 'deny'), operator('Mail', 'auto', { action: 'send' })],
      'auto',
      'operator: Mail.send',
    ],
    [
      'the order in the file does not matter',
      [operator('Mail', 'auto', { action: 'send' }), operator('Mail', 'deny')],
      'auto',
      'operator: Mail.send',
    ],
    [
      'an agent beats no agent, stricter',
      [operator('Mail', 'auto', { action: 'send' }), operator('Mail', 'deny', { action: 'send', agent: 'assistant' })],
      'deny',
      'operator: Mail.send for agent assistant',
    ],
    [
      'an agent beats no agent, looser',
      [operator('Mail', 'deny', { action: 'send' }), operator('Mail', 'auto', { action: 'send', agent: 'assistant' })],
      'auto',
      'operator: Mail.send for agent assistant',
    ],
    [
      'a rule for another agent does not count',
      [operator('Mail', 'auto', { action: 'send', agent: 'someone' })],
      'approve',
      'builtin: Mail.send',
    ],
    [
      'of two rules that cannot be compared the stricter counts',
      [operator('Mail', 'auto', { action: 'send' }), operator('Mail', 'deny', { agent: 'assistant' })],
      'deny',
      'operator: Mail for agent assistant',
    ],
    [
      'a rule for another server does not count',
      [operator('Mail', 'deny', { action: 'send', server: 'remote' })],
      'approve',
      'builtin: Mail.send',
    ],
    [
      'a named server beats none',
      [operator('Mail', 'deny', { action: 'send' }), operator('Mail', 'auto', { action: 'send', server: 'builtin' })],
      'auto',
      'operator: Mail.send',
    ],
    [
      'a rule for another action does not count',
      [operator('Mail', 'deny', { action: 'read_inbox' })],
      'approve',
      'builtin: Mail.send',
    ],
  ])('%s', (_, rules, verdict, rule) => {
    expect(judge(call('Mail', 'send'), rules)).toMatchObject({ verdict, rule, reason: 'rule' });
  });

  const held = operator('Mail', 'approve', { action: 'send' });
  test.each<[string, Rule[], Partial<RuleSet>]>([
    ['for the whole tool', [operator('Mail', 'auto')], {}],
    ['for the whole tool on its server', [operator('Mail', 'auto', { server: 'builtin' })], {}],
    ['for the whole tool and this agent', [operator('Mail', 'auto', { agent: 'assistant' })], {}],
    ['for everything', [], { fallback: { verdict: 'auto' } }],
    [
      'for all that can be general at once',
      [operator('Mail', 'auto'), operator('Mail', 'auto', { agent: 'assistant' })],
      { fallback: { verdict: 'auto' } },
    ],
    [
      'of a name that looks like a pattern',
      ['*', '.*', 'Ma*', '%'].map((any) => operator(any, 'auto', { action: any })),
      {},
    ],
    [
      'of an action that looks like a pattern',
      ['*', '.*', 's*', ''].map((any) => operator('Mail', 'auto', { action: any })),
      {},
    ],
  ])('claude-code#26276: an allow %s does not beat a hold of the action', (_, allows, more) => {
    for (const rules of [[...allows, held], [held, ...allows], allows])
      expect(judge(call('Mail', 'send'), ruleSet(rules, more)).verdict).toBe('approve');
  });
  test('claude-code#9792: rules that match nothing, or nothing any more, weaken no other', () => {
    const odd = ['', ' ', '(', '[a-', '\\', '__proto__', 'constructor', '\u0000', 'x'.repeat(10_000)];
    const rules = odd.flatMap((name) => [
      operator(name, 'auto'),
      operator('Mail', 'auto', { action: name }),
      operator('Mail', 'auto', { action: 'send', server: name }),
      operator('Mail', 'auto', { action: 'send', agent: name }),
    ]);
    const denied = operator('Mail', 'deny', { action: 'send' });
    for (const all of [
      [...rules, denied],
      [denied, ...rules],
    ])
      expect(judge(call('Mail', 'send'), all).verdict).toBe('deny');
    expect(judge(call('Mail', 'send'), rules).verdict).toBe('approve');
  });

  test.each<[Verdict, string | null, Verdict]>([
    ['approve', 'read_inbox', 'approve'],
    ['deny', 'read_inbox', 'deny'],
    ['auto', 'send', 'approve'],
    ['approve', 'send', 'approve'],
    ['deny', 'send', 'deny'],
  ])('with the operator’s default %s, Mail.%s is %s', (fallback, action, verdict) => {
    expect(judge(call('Mail', action), ruleSet([], { fallback: { verdict: fallback } })).verdict).toBe(verdict);
  });

  test('a rule for the whole tool comes before the operator’s default', () => {
    const rules = ruleSet([operator('Clock', 'auto')], { fallback: { verdict: 'deny' } });
    expect(judge(call('Clock', 'now'), rules)).toMatchObject({ verdict: 'auto', rule: 'operator: Clock' });
    expect(judge(call('Calendar', 'now'), rules)).toMatchObject({ verdict: 'deny', rule: 'operator: default' });
  });
});

describe('what no rule can allow', () => {
  const lax = [operator('Mail', 'auto', { action: 'send' })];

  test('a tool that is unknown or not assigned is not found', () => {
    expect(judge(call('Mail', 'send'), lax, null)).toMatchObject({ verdict: 'deny', reason: 'not-found' });
  });

  test.each(['space', 'agent', 'everything'] as const)('a halt of the %s denies', (halted) => {
    const space = { ...NO_SPACE_POLICY, halted };
    expect(judge(call('Mail', 'send'), lax, builtinTool(), space)).toMatchObject({
      verdict: 'deny',
      reason: 'halted',
      rule: `halt: ${halted}`,
      reminder: expect.stringContaining('halted by a person'),
    });
  });

  test('an administrative tool is never invoked', () => {
    expect(judge(call('Mail', 'send'), lax, builtinTool({ scope: 'admin' }))).toMatchObject({
      verdict: 'deny',
      reason: 'admin-scope-not-invokable',
    });
  });

  test('not found comes before halted, halted before administrative', () => {
    const halted: SpacePolicy = { ...NO_SPACE_POLICY, halted: 'space' };
    expect(judge(call('X', 'y'), [], null, halted).reason).toBe('not-found');
    expect(judge(call('X', 'y'), [], builtinTool({ scope: 'admin' }), halted).reason).toBe('halted');
  });
});

describe('destructive actions', () => {
  const destructive = builtinTool({ hint: 'destructive' });
  const purge = call('FileRW', 'purge_folder');
  const optIn = (...actions: string[]): SpacePolicy => ({
    ...NO_SPACE_POLICY,
    allowDestructive: actions.map((action) => ({ server: 'builtin', tool: 'FileRW', action })),
  });

  test('without the opt-in of the space they are refused', () => {
    expect(judge(purge, [], destructive)).toMatchObject({ verdict: 'deny', reason: 'destructive-not-allowed' });
  });
  test('with the opt-in they run', () => {
    expect(judge(purge, [], destructive, optIn('purge_folder')).verdict).toBe('auto');
  });
  test('an opt-in to another action does not count', () => {
    expect(judge(purge, [], destructive, optIn('delete')).verdict).toBe('deny');
  });
  test('an operator’s auto is no opt-in', () => {
    expect(judge(purge, [operator('FileRW', 'auto')], destructive).reason).toBe('destructive-not-allowed');
  });
  test('an opt-in does not loosen a refusal or a hold', () => {
    const space = optIn('purge_folder');
    expect(judge(purge, [operator('FileRW', 'deny')], destructive, space).verdict).toBe('deny');
    expect(judge(purge, [operator('FileRW', 'approve')], destructive, space).verdict).toBe('approve');
  });
  test('a hold puts the call before a person and needs no opt-in', () => {
    const held = judge(purge, [operator('FileRW', 'approve', { action: 'purge_folder' })], destructive);
    expect(held).toMatchObject({ verdict: 'approve', reason: 'rule' });
    expect(judge(call('FileRW', 'delete'), [], destructive)).toMatchObject({ verdict: 'approve', reason: 'rule' });
  });
});

describe('foreign tools', () => {
  test('are held when no rule names them', () => {
    expect(judge(call('get_issue', null, { server: 'github' }), [], foreignTool({ actions: [] }))).toMatchObject({
      verdict: 'approve',
      reason: 'foreign-tool',
    });
  });
  test('are not loosened by their own hint, nor by the operator’s default', () => {
    const tool = foreignTool({ hint: 'read', actions: [] });
    expect(
      judge(call('get_issue', null, { server: 'github' }), ruleSet([], { fallback: { verdict: 'auto' } }), tool)
        .verdict,
    ).toBe('approve');
  });
  test('are loosened by a rule that names their server', () => {
    const rules = [operator('get_issue', 'auto', { server: 'github' })];
    expect(judge(call('get_issue', null, { server: 'github' }), rules, foreignTool({ actions: [] })).verdict).toBe(
      'auto',
    );
    expect(judge(call('get_issue', null, { server: 'evil' }), rules, foreignTool({ actions: [] })).verdict).toBe(
      'approve',
    );
  });
  test('are not loosened by a rule without a server, but are tightened by one', () => {
    const tool = foreignTool({ actions: [] });
    expect(judge(call('get_issue', null, { server: 'github' }), [operator('get_issue', 'auto')], tool).verdict).toBe(
      'approve',
    );
    expect(judge(call('get_issue', null, { server: 'github' }), [operator('get_issue', 'deny')], tool).verdict).toBe(
      'deny',
    );
  });
  test.each<[string, string, string | null]>([
    ['github_evil', 'get_issue', null],
    ['github.evil', 'get_issue', null],
    ['github__get', 'issue', null],
    ['git', 'hub_get_issue', null],
    ['git', 'hub__get_issue', null],
    ['github ', 'get_issue', null],
    ['GitHub', 'get_issue', null],
    ['githսb', 'get_issue', null],
    ['github\u200b', 'get_issue', null],
    ['github/get_issue', 'get_issue', null],
    ['', 'github__get_issue', null],
    ['evil', 'github__get_issue', null],
    ['evil', 'github.get_issue', null],
    ['evil', 'get_issue', null],
    ['github', 'get_issue_and_more', null],
    ['github', 'get', 'issue'],
    ['builtin', 'get_issue', null],
  ])(
    'gemini-cli#12511: %j with tool %j gains nothing from what is allowed to another server',
    (server, tool, action) => {
      const allowed = operator('get_issue', 'auto', { server: 'github' });
      const facts = foreignTool({ actions: action === null ? [] : [action] });
      expect(
        judge(call('get_issue', null, { server: 'github' }), [allowed], foreignTool({ actions: [] })).verdict,
      ).toBe('auto');
      expect(judge(call(tool, action, { server }), [allowed], facts).verdict).toBe('approve');
    },
  );
  test.each([
    ['get_issue', 'get-issue'],
    ['get_issue', 'get.issue'],
    ['get_issue', 'get/issue'],
    ['get_issue', 'Get_Issue'],
    ['get_issue', 'getissue'],
    ['get_issue', 'get_issue_'],
    ['get_issue', 'get issue'],
    ['a'.repeat(64), `${'a'.repeat(64)}b`],
  ])(
    'qwen-code#10199: %j and %j may become one name elsewhere; here neither is allowed for the other, and a ban is for both',
    (one, other) => {
      const at = (tool: string, rules: Rule[]) =>
        judge(call(tool, null, { server: 'github' }), rules, foreignTool({ actions: [] })).verdict;
      for (const [named, called] of [
        [one, other],
        [other, one],
      ] as const) {
        expect(at(called, [operator(named, 'auto', { server: 'github' })])).toBe('approve');
        const sanitised = named.length < 64 && called.length < 64;
        const both = [operator(called, 'auto', { server: 'github' }), operator(named, 'deny', { server: 'github' })];
        if (sanitised) expect(at(called, both)).toBe('deny');
      }
    },
  );
  test('gemini-cli#12511: gain nothing from calling their server like ours', () => {
    const rules = [operator('Clock', 'auto', { server: 'builtin' })];
    expect(judge(call('Clock', 'now'), rules, foreignTool()).verdict).toBe('approve');
    expect(judge(call('Clock', 'now', { server: 'bui1tin' }), rules, foreignTool()).verdict).toBe('approve');
  });
  test('destructive by their own word and allowed by a rule, they still need the opt-in', () => {
    const rules = [operator('drop', 'auto', { server: 'db' })];
    const tool = foreignTool({ hint: 'destructive', actions: [] });
    expect(judge(call('drop', null, { server: 'db' }), rules, tool).reason).toBe('destructive-not-allowed');
  });
});

describe('a missing or undeclared action', () => {
  test('on a tool whose actions rules name gets the strictest of them', () => {
    expect(judge(call('Mail', null))).toMatchObject({ verdict: 'approve', flags: ['undeclared-action'] });
    expect(judge(call('Mail', null), [operator('Mail', 'deny', { action: 'forward' })])).toMatchObject({
      verdict: 'deny',
      rule: 'operator: Mail.forward',
    });
  });
  test('is held at least, whatever the rules say', () => {
    const rules = [operator('Clock', 'auto', { action: 'now' }), operator('Clock', 'auto')];
    expect(judge(call('Clock', null), rules)).toMatchObject({ verdict: 'approve', reason: 'undeclared-action' });
    expect(judge(call('Clock', 'set'), [], builtinTool({ actions: ['now'] }))).toMatchObject({
      verdict: 'approve',
      reason: 'undeclared-action',
      flags: ['undeclared-action'],
    });
  });
  test('on a foreign tool without a usable schema is held, even when a rule allows the tool', () => {
    const rules = [operator('files', 'auto', { server: 'fs' })];
    expect(judge(call('files', null, { server: 'fs' }), rules, foreignTool()).verdict).toBe('approve');
  });
  test('of a destructive tool is refused like the action it could be', () => {
    expect(judge(call('FileRW', null), [], builtinTool({ hint: 'destructive' })).verdict).toBe('deny');
  });
  test('is none where the tool declares no action', () => {
    expect(judge(call('Clock', null), [], builtinTool({ actions: [] })).verdict).toBe('auto');
  });
});

describe('another spelling', () => {
  test.each([
    'Send',
    'SEND',
    'send_',
    's-e-n-d',
    'send ',
    ' send',
    'sеnd',
    'ｓｅｎｄ',
    'send\u200b',
    'ѕеnd',
    'se\u0000nd',
    '__proto__',
    '',
  ])('pipefy/ai-toolkit#630: Mail.%j is held like Mail.send', (action) => {
    expect(judge(call('Mail', action)).verdict).toBe('approve');
  });
  test('of the tool is held as well', () => {
    for (const tool of ['mail', 'MAIL', 'Ma1l', 'Маil', 'Mail '])
      expect(judge(call(tool, 'send')).verdict).toBe('approve');
  });
  test('is said to be one', () => {
    expect(judge(call('Mail', 'Send'))).toMatchObject({
      reason: 'rule',
      rule: 'builtin: Mail.send',
      flags: ['look-alike'],
    });
  });
  test('of a rule still tightens and never loosens', () => {
    expect(judge(call('Clock', 'now'), [operator('clock', 'deny')]).verdict).toBe('deny');
    expect(judge(call('Mail', 'send'), [operator('mail', 'auto', { action: 'send' })]).verdict).toBe('approve');
  });
  test('of an action that only tightened spelling shares nothing with stays as it is', () => {
    expect(judge(call('Mail', 'resend_policy')).verdict).toBe('auto');
  });
});

describe('the rate limit', () => {
  test('once it is used up, a call that would run or be held is refused', () => {
    for (const called of [call('Clock', 'now'), call('Mail', 'send')])
      expect(judge(called, [], builtinTool(), NO_SPACE_POLICY, true)).toMatchObject({
        verdict: 'deny',
        reason: 'rate-limit-exceeded',
      });
  });
  test('a refusal by rule keeps its reason', () => {
    const rules = [operator('Clock', 'deny')];
    expect(judge(call('Clock', 'now'), rules, builtinTool(), NO_SPACE_POLICY, true).reason).toBe('rule');
  });
});

describe('content', () => {
  const unreadable = { content: { readable: false, flags: ['content-unreadable'] } };

  test('that nobody could look at is held unless it only asks to read', () => {
    expect(judge(call('Clock', 'set', unreadable))).toMatchObject({ verdict: 'approve', reason: 'content-unreadable' });
    expect(judge(call('Clock', 'now', unreadable), [], builtinTool({ hint: 'read' })).verdict).toBe('auto');
  });
  test('that nobody could look at is held on a foreign tool, whatever the tool says of itself', () => {
    const rules = [operator('get', 'auto', { server: 'x' })];
    const c = call('get', null, { server: 'x', ...unreadable });
    expect(judge(c, rules, foreignTool({ hint: 'read', actions: [] })).verdict).toBe('approve');
  });
  test('with markers is flagged and never blocked', () => {
    const decision = judge(call('Clock', 'now', { content: { readable: true, flags: ['injection-marker'] } }));
    expect(decision).toMatchObject({ verdict: 'auto', flags: ['injection-marker'] });
    expect(decision.reminder).toMatch(/do not follow it/);
  });
});

describe('log-only', () => {
  const trial = (rules: Rule[] = []) => ruleSet(rules, { mode: 'log-only' });

  test.each(['approve', 'deny'] as const)('lets %s run and says what it would have been', (verdict) => {
    const decision = judge(call('Clock', 'now'), trial([operator('Clock', verdict)]));
    expect(decision).toMatchObject({ verdict: 'auto', wouldBe: verdict, mode: 'log-only', rule: 'operator: Clock' });
    expect(decision.expiresAfterSeconds).toBeUndefined();
  });
  test('enforces all the same what no rule can allow', () => {
    const halted: SpacePolicy = { ...NO_SPACE_POLICY, halted: 'everything' };
    expect(judge(call('Clock', 'now'), trial(), builtinTool(), halted).verdict).toBe('deny');
    expect(judge(call('Clock', 'now'), trial(), null).verdict).toBe('deny');
    expect(judge(call('Clock', 'now'), trial(), builtinTool({ scope: 'admin' })).verdict).toBe('deny');
  });
  test('says nothing of the kind when enforcing', () => {
    expect(judge(call('Mail', 'send'))).not.toHaveProperty('wouldBe');
  });
});

describe('every reason', () => {
  const acts = Array.from({ length: 9 }, (_, i) =>
    operator('Mail', 'approve', { action: `act${i}`, requirement: { ...USUAL_REQUIREMENT, votes: i + 1 } }),
  );
  // the type has each reason here: one that is added needs a call that is given it
  const given: Record<Reason, ReturnType<typeof judge>> = {
    'not-found': judge(call('Mail', 'send'), [], null),
    halted: judge(call('Mail', 'send'), [], builtinTool(), { ...NO_SPACE_POLICY, halted: 'space' }),
    'admin-scope-not-invokable': judge(call('Mail', 'send'), [], builtinTool({ scope: 'admin' })),
    rule: judge(call('Mail', 'send')),
    default: judge(call('Calendar', 'create')),
    'foreign-tool': judge(call('get_issue', null, { server: 'github' }), [], foreignTool({ actions: [] })),
    'undeclared-action': judge(call('Calendar', 'creat'), [], builtinTool({ actions: ['create'] })),
    'content-unreadable': judge(call('Calendar', 'create', { content: { readable: false, flags: [] } })),
    'destructive-not-allowed': judge(call('FileRW', 'purge_folder'), [], builtinTool({ hint: 'destructive' })),
    'rate-limit-exceeded': judge(call('Calendar', 'create'), [], builtinTool(), NO_SPACE_POLICY, true),
    'requirements-unclear': judge(call('Mail', null), acts),
  };
  const VERDICT: Record<Reason, Verdict> = {
    'not-found': 'deny',
    halted: 'deny',
    'admin-scope-not-invokable': 'deny',
    rule: 'approve',
    default: 'auto',
    'foreign-tool': 'approve',
    'undeclared-action': 'approve',
    'content-unreadable': 'approve',
    'destructive-not-allowed': 'deny',
    'rate-limit-exceeded': 'deny',
    'requirements-unclear': 'deny',
  };
  test.each(Object.entries(given))('%s', (reason, decision) => {
    expect(decision).toMatchObject({ reason, verdict: VERDICT[reason as Reason] });
    expect(decision.reminder !== undefined).toBe(decision.verdict === 'deny');
  });
});

test('a refusal says what to do, in the operator’s words too', () => {
  const decision = judge(call('Clock', 'set'), [operator('Clock', 'deny', { reason: 'Clocks are set by the lab.' })]);
  expect(decision.reminder).toBe(
    'Policy refuses this call. Do not repeat it, in this or another spelling; ask a person instead. The reason given with the rule: Clocks are set by the lab.',
  );
});
