import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BacktestProgress, PolicyExplanation } from '@holdpoint/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Installation } from './holdpoint.js';

// For people who write rules, as they type it.

/** Clears the screen, hides, turns text round, ends lines, and rings the bell. */
const HOSTILE = '\u001b[2J\u009b31m\u202e\u200b\u2028\u0007\r';
const UNSAFE = /[^\P{C}\n]|[\p{Zl}\p{Zp}]/u;

let at: Installation;
let yaml: string;
let json: string;
beforeAll(async () => {
  at = await Installation.open();
  yaml = await file('holdpoint.yaml', 'policy:\n  default: approve\n');
  json = await file('rules.json', '{"rules": [{"tool": "Mail", "verdict": "deny"}]}');
});
afterAll(() => at.close());
beforeEach(() => {
  at.asked.length = 0;
  at.answers.clear();
  at.answers.set('POST /v1/policy/explain', { json: explained() });
});
const file = async (name: string, text: string) => {
  await writeFile(join(at.home, name), text);
  return join(at.home, name);
};
const SPACE = ['--space', 'acme'];

const explained = (more: Partial<PolicyExplanation> = {}): PolicyExplanation => ({
  verdict: 'approve',
  reason: 'rule',
  rule: `operator: Mail.send${HOSTILE}`,
  because: 'The rule that decides is the strictest of those that are heard.',
  flags: [],
  policyVersion: 'a'.repeat(64),
  tool: { origin: 'builtin', scope: 'user', hint: 'write' },
  rules: [
    {
      rule: `operator: Mail.send${HOSTILE}`,
      origin: 'operator',
      verdict: 'approve',
      matched: true,
      fate: 'decides',
      mismatch: null,
      by: null,
      why: 'It is the strictest that is heard.',
    },
    {
      rule: 'builtin: FTP.upload',
      origin: 'builtin',
      verdict: 'approve',
      matched: false,
      fate: 'no-match',
      mismatch: 'tool',
      by: null,
      why: 'It is for another tool.',
    },
  ],
  readings: [],
  readingsCount: 1,
  ...more,
});

describe('policy explain', () => {
  it('asks for the call as it is written and shows what became of each rule; no text of a stranger gets out', async () => {
    const { code, stdout } = await at.holdpoint(
      ...['policy', 'explain', 'git/repo%2Edrop', '--agent', 'assistant', '--arguments', '{"a":1}'],
      ...['--draft', json, ...SPACE],
    );
    expect(code).toBe(0);
    expect(at.asked.at(-1)?.body).toEqual({
      ...{ spaceId: 'acme', agent: 'assistant', server: 'git', tool: 'repo.drop', action: null, arguments: '{"a":1}' },
      rules: [{ tool: 'Mail', verdict: 'deny' }],
    });
    expect(stdout).toMatch(/^approve\n/);
    expect(stdout).toMatch(/^operator: Mail\.send\\u\{1b\}.* approve +decides +It is the strictest/m);
    expect(stdout).toContain('builtin: FTP.upload: It is for another tool.');
    expect(stdout).not.toMatch(UNSAFE);
  });

  it('a name that is no action is typed wrongly, and nothing is asked', async () => {
    const { code } = await at.holdpoint('policy', 'explain', 'Mail.send.now', '--agent', 'assistant');
    expect({ code, asked: at.asked }).toEqual({ code: 2, asked: [] });
  });
});

describe('policy lint', () => {
  it('asks nobody about a file that policy would not look at', async () => {
    const large = await file('large.yaml', `# ${'x'.repeat(70_000)}\n`);
    const { code, stderr } = await at.holdpoint('policy', 'lint', large, ...SPACE);
    expect({ code, asked: at.asked }).toEqual({ code: 2, asked: [] });
    expect(stderr).toContain('larger than the 64 KiB');
  });

  it('ends with 0 for a good file and with 1 and each fault for a bad one', async () => {
    at.answers.set('POST /v1/policy/lint', { json: { ok: true, faults: [] } });
    const fine = await at.holdpoint('policy', 'lint', yaml, ...SPACE);
    expect(fine).toMatchObject({ code: 0, stdout: expect.stringContaining('The start checks the rest: agents') });
    expect(at.asked.at(-1)?.body).toEqual({ spaceId: 'acme', file: 'policy:\n  default: approve\n' });
    at.answers.set('POST /v1/policy/lint', { json: { ok: false, faults: [`line 2: no${HOSTILE}`] } });
    const { code, stdout } = await at.holdpoint('policy', 'lint', yaml, ...SPACE);
    expect(code).toBe(1);
    expect(stdout).toContain('  line 2: no\\u{1b}');
    expect(stdout).not.toMatch(UNSAFE);
  });
});

describe('policy test', () => {
  const tests = (expect: string, more = '') =>
    file('tests.yaml', `calls:\n  - call: Mail.send\n    agent: assistant\n    expect: ${expect}\n${more}`);

  it('ends with 0 when every verdict is as expected, by what enforce would say', async () => {
    at.answers.set('POST /v1/policy/explain', { json: explained({ verdict: 'auto', wouldBe: 'approve' }) });
    const { code, stdout } = await at.holdpoint('policy', 'test', await tests('approve'), '--draft', yaml, ...SPACE);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '1 calls: each gets the verdict that is expected.\n' });
    expect(at.asked.at(-1)?.body).toMatchObject({ tool: 'Mail', action: 'send', file: expect.any(String) });
  });

  it.each([
    ['another verdict', 'deny', '', /expected deny, got approve by operator: Mail\.send/],
    ['another rule', 'approve', '    rule: "builtin: Mail.send"\n', /expected by builtin: Mail\.send/],
    ['another reason', 'approve', '    reason: halted\n', /expected the reason halted, got rule/],
  ])('ends with 1 and shows it: %s', async (_, verdict, more, shown) => {
    const { code, stdout } = await at.holdpoint('policy', 'test', await tests(verdict, more), ...SPACE);
    expect(code).toBe(1);
    expect(stdout).toMatch(shown);
    expect(stdout).not.toMatch(UNSAFE);
  });

  it.each(['calls: []\n', '', 'calls:\n  - call: Mail.send\n    agent: a\n    expects: deny\n'])(
    'a file that tests nothing is no test: %j',
    async (text) => {
      const { code } = await at.holdpoint('policy', 'test', await file('none.yaml', text), ...SPACE);
      expect({ code, asked: at.asked }).toEqual({ code: 2, asked: [] });
    },
  );
});

describe('policy backtest', () => {
  const counts = { judged: 10, changed: 4, withoutFacts: 3, unreadable: 1 };
  const progress: BacktestProgress = { type: 'progress', ...counts };
  const done: BacktestProgress = {
    type: 'done',
    ...counts,
    before: { auto: 6, approve: 4, deny: 0 },
    after: { auto: 6, approve: 0, deny: 4 },
    changes: [
      {
        server: 'git',
        tool: `drop${HOSTILE}`,
        action: null,
        from: 'approve',
        to: 'deny',
        calls: 4,
        samples: ['c1', 'c2'],
      },
    ],
    unlisted: 0,
    policyVersion: 'a'.repeat(64),
  };
  const tells = (...events: BacktestProgress[]) =>
    at.answers.set('POST /v1/policy/backtest', {
      type: 'text/event-stream',
      text: events.map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join(''),
    });

  it('shows what would have changed', async () => {
    tells(progress, done);
    const { code, stdout } = await at.holdpoint('policy', 'backtest', json, '--limit', '10', ...SPACE);
    expect(code).toBe(0);
    expect(at.asked.at(-1)?.body).toEqual({
      spaceId: 'acme',
      limit: 10,
      rules: [{ tool: 'Mail', verdict: 'deny' }],
    });
    expect(stdout).toContain('10 calls were judged again: 4 would have got another verdict.');
    expect(stdout).toMatch(/^git\/drop\\u\{1b\}.* 4 +approve +deny +c1 c2$/m);
    expect(stdout).not.toMatch(UNSAFE);
  });

  it.each<[string, BacktestProgress[]]>([
    ['breaks off', [progress]],
    ['is refused in the middle', [progress, { type: 'broken', detail: 'You are no admin any more.' }]],
  ])('half an answer is none: it %s', async (_, events) => {
    tells(...events);
    const { code, stdout, stderr } = await at.holdpoint('policy', 'backtest', json, ...SPACE);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('cli.backtest-broken');
  });
});
