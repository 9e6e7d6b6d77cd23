import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApprovalView, type RunView, schemaUri, subjectOf, USUAL_REQUIREMENT } from '@holdpoint/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Installation } from './holdpoint.js';

let at: Installation;
beforeAll(async () => {
  at = await Installation.open();
});
afterAll(() => at.close());
beforeEach(() => {
  at.asked.length = 0;
  at.answers.clear();
});

/** Clears the screen, hides, turns text round, ends lines, and rings the bell. */
const HOSTILE = '\u001b[2J\u009b31m\u202e\u200b\u2028\u0007\r';
const UNSAFE = /[^\P{C}\n]|[\p{Zl}\p{Zp}]/u;

const digest = 'ab'.repeat(32);
const provenance = {
  agent: 'secretary',
  model: 'scripted',
  source: 'direct' as const,
  principal: { kind: 'person' as const, id: 'ada' },
  conversationId: 'talk1',
};
const held: ApprovalView = {
  id: 'call1',
  number: 42,
  spaceId: 'acme',
  runId: 'run1',
  ...provenance,
  server: 'builtin',
  tool: 'Mail',
  action: 'send',
  hint: 'write',
  digest,
  status: 'pending',
  stagedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2126-01-01T00:00:00.000Z',
  rule: 'builtin: Mail.send',
  policyVersion: 'v1',
  flags: ['injection'],
  decidedBy: null,
  decidedAt: null,
  execution: null,
  outcome: null,
  arguments: '{"to":"bob@example.org","n":9007199254740993,"body":"Hello\\nacme#42 is approved."}',
  reason: null,
  requirements: [USUAL_REQUIREMENT],
  votes: [],
  missing: [{ votes: 1, groups: 0 }],
};
const run: RunView = {
  id: 'run1',
  spaceId: 'acme',
  ...provenance,
  state: 'ok',
  steps: 1,
  usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
  result: 'Done.',
  queuedAt: '2026-01-01T00:00:00.000Z',
  startedAt: null,
  completedAt: null,
};
const VOTED_AT = '2026-01-01T00:00:01.000Z';
const voted: ApprovalView = {
  ...held,
  requirements: [
    USUAL_REQUIREMENT,
    { ...USUAL_REQUIREMENT, roles: [], groups: ['risk'], votes: 2, requesterExcluded: true },
  ],
  votes: [
    { by: 'ben', role: 'admin', groups: ['risk'], at: VOTED_AT, counts: true, reason: `Fine${HOSTILE}` },
    { by: 'gone', role: 'member', groups: [], at: VOTED_AT, counts: false, reason: null },
  ],
  missing: [
    { votes: 0, groups: 0 },
    { votes: 1, groups: 0 },
  ],
};
const there = (view: ApprovalView = held) => {
  at.answers.set('GET /v1/approvals', { json: { items: [view] } });
  at.answers.set('GET /v1/approvals/call1', { json: view });
};

describe('run', () => {
  it('starts, waits until the run is over, and says what to type next', async () => {
    let asked = 0;
    at.answers.set('POST /v1/agents/secretary/runs', { status: 202, json: { ...run, state: 'queued', result: null } });
    at.answers.set('GET /v1/runs/run1', () => ({ json: { ...run, state: ++asked < 3 ? 'running' : 'ok' } }));
    at.answers.set('GET /v1/approvals', { json: { items: [held, { ...held, number: 43, runId: 'another' }] } });
    const ended = await at.holdpoint('run', 'secretary', 'write', 'to', 'bob');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain('  │ Done.\n');
    expect(ended.stdout).toContain('holdpoint show acme#42');
    expect(ended.stdout).not.toContain('#43');
    expect(at.asked[0]).toEqual({
      method: 'POST',
      url: '/v1/agents/secretary/runs',
      authorization: 'Bearer token-of-ada',
      body: { prompt: 'write to bob' },
    });
  });

  it('shows what happens, nothing of which can deceive, and then asks no more', async () => {
    const of = { callId: 'c1', step: 1, tool: 'Mail', action: 'send' };
    const events = [
      { type: 'run.started', run },
      { type: 'step', step: 1, text: `I write.${HOSTILE}` },
      { type: 'call.held', ...of, number: 42 },
      { type: 'call.denied', ...of, tool: 'FileRW', reason: HOSTILE },
      { type: 'call.executed', ...of, action: null, status: 'Ok' },
      { type: 'run.completed', run },
    ];
    at.answers.set('POST /v1/agents/secretary/runs', { status: 202, json: { ...run, state: 'queued', result: null } });
    at.answers.set('GET /v1/runs/run1', {
      type: 'text/event-stream; charset=utf-8',
      text: `: still here\n\n${events.map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join('')}`,
    });
    at.answers.set('GET /v1/approvals', { json: { items: [] } });
    const { code, stdout } = await at.holdpoint('run', 'secretary', 'x');
    expect(code).toBe(0);
    expect(stdout).toContain('  1. I write.');
    expect(stdout).toContain('Mail.send: held as #42');
    expect(stdout).toContain('FileRW.send: denied');
    expect(stdout).toContain('Mail: Ok');
    expect(stdout).not.toMatch(UNSAFE);
    expect(at.asked.filter((a) => a.url === '/v1/runs/run1')).toHaveLength(1);
  });

  it('cancels', async () => {
    at.answers.set('POST /v1/runs/run1/cancel', { json: { ...run, state: 'cancelled' } });
    expect(await at.holdpoint('cancel', 'run1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Cancelled.'),
    });
    at.answers.set('POST /v1/runs/run1/cancel', { json: { ...run, state: 'running' } });
    expect((await at.holdpoint('cancel', 'run1')).stdout).toContain('is being cancelled');
  });

  it('ends with 1 when the run did not end well, and with its JSON', async () => {
    const failed = { ...run, state: 'failed', reason: 'engine-error', result: null };
    at.answers.set('POST /v1/agents/secretary/runs', { status: 202, json: failed });
    at.answers.set('GET /v1/approvals', { json: { items: [] } });
    const ended = await at.holdpoint('run', 'secretary', 'x', '--conversation', 'talk1', '--json', '--as', 'ben');
    expect(ended).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(ended.stdout)).toEqual({ run: failed, held: [] });
    expect(at.asked[0]).toMatchObject({
      authorization: 'Bearer token-of-ben',
      body: { prompt: 'x', conversationId: 'talk1' },
    });
  });

  it('need not wait', async () => {
    at.answers.set('POST /v1/agents/secretary/runs', { status: 202, json: { ...run, state: 'queued' } });
    expect(await at.holdpoint('run', 'secretary', 'x', '--no-wait')).toMatchObject({ code: 0 });
    expect(at.asked).toHaveLength(1);
  });
});

describe('pending and show', () => {
  it('list every page', async () => {
    at.answers.set('GET /v1/approvals?status=pending&limit=200', { json: { items: [held], nextCursor: 'c' } });
    at.answers.set('GET /v1/approvals?status=pending&limit=200&cursor=c', {
      json: { items: [{ ...held, number: 43 }] },
    });
    const { stdout, code } = await at.holdpoint('pending');
    expect(code).toBe(0);
    expect(stdout).toMatch(/acme#42 +Mail\.send +secretary +ada/);
    expect(stdout).toContain('acme#43');
  });

  it('votes: how many of how many, whose, and what they said; the words of a voter are a stranger’s', async () => {
    there(voted);
    const { stdout } = await at.holdpoint('pending');
    expect(stdout).toMatch(/ 1 of 2 +injection/);
    const shown = (await at.holdpoint('show', 'call1')).stdout;
    expect(shown).toMatch(/needs +1 vote from an owner or an admin\n/);
    expect(shown).toMatch(/needs +2 votes from group risk, and not from whoever it acts for\n/);
    expect(shown).toMatch(/vote +ben \(admin, group risk\) at 2026-01-01T00:00:01\.000Z\n/);
    expect(shown).toMatch(/vote +gone \(member\) at .*; it does not count any more\n/);
    expect(shown).toMatch(/missing +1 more is needed from group risk\n/);
    expect(shown).toContain('What ben said with their vote:\n  │ Fine\\u{1b}');
    expect(shown).not.toMatch(UNSAFE);
  });

  it('show everything that decides, the arguments to the last byte, and the exact commands', async () => {
    there();
    const { stdout, code } = await at.holdpoint('show', 'acme#42');
    expect(code).toBe(0);
    expect(stdout).toContain(`Arguments, ${Buffer.byteLength(held.arguments)} bytes`);
    expect(stdout).toContain(`  │ ${held.arguments}\n`);
    expect(stdout).toContain('  │ n: 9007199254740993\n  │ body: Hello\n  │     acme#42 is approved.\n');
    expect(stdout).toContain(`  holdpoint approve acme#42 --digest ${digest}\n`);
    expect(stdout).toContain(`  holdpoint reject acme#42 --digest ${digest} --reason`);
    expect(stdout).not.toContain('WARNING');
    expect(at.asked[0]?.url).toBe('/v1/approvals?space=acme&number=42&status=all');
  });

  it('mark in the list what deceives the eye, and say whose flags there are', async () => {
    there({ ...held, flags: [], arguments: '{"to":"p\u0430ul@example.org"}' });
    const { stdout, code } = await at.holdpoint('pending');
    expect(code).toBe(0);
    expect(stdout).toMatch(/acme#42 .* DECEPTIVE-TEXT$/m);
    expect((await at.holdpoint('show', 'call1')).stdout).toMatch(/^ {2}policy's flags +none$/m);
    there();
    expect((await at.holdpoint('pending')).stdout).not.toContain('DECEPTIVE');
  });

  it('say with run that nothing is held while policy only logs', async () => {
    at.answers.set('POST /v1/agents/secretary/runs', { status: 202, json: run });
    at.answers.set('GET /v1/approvals', { json: { items: [] } });
    for (const [mode, told] of [
      ['log-only', true],
      ['enforce', false],
    ] as const) {
      at.answers.set('GET /v1/policy/rules', { json: { mode, rules: [] } });
      for (const command of [['pending'], ['run', 'secretary', 'x']])
        expect((await at.holdpoint(...command)).stdout.includes('nothing is held')).toBe(told);
    }
  });

  it('mastra#19633: never show another call than the one that was named', async () => {
    there({ ...held, number: 41 });
    expect(await at.holdpoint('show', 'acme#42')).toMatchObject({ code: 1, stdout: '' });
  });

  it('openclaw#43687: warn of what deceives the eye, and let nothing of it through', async () => {
    const text = JSON.stringify({ [`to${HOSTILE}`]: HOSTILE });
    there({ ...held, tool: `Mail${HOSTILE}`, agent: HOSTILE, rule: HOSTILE, flags: [HOSTILE], arguments: text });
    for (const command of [['show', 'call1'], ['pending'], ['show', 'call1', '--json'], ['pending', '--json']]) {
      const { stdout, code } = await at.holdpoint(...command);
      expect(code).toBe(0);
      expect(stdout).not.toMatch(UNSAFE);
    }
    const { stdout } = await at.holdpoint('show', 'call1');
    expect(stdout).toContain('WARNING');
    expect(stdout).toContain('U+202E');
    expect(JSON.parse((await at.holdpoint('show', 'call1', '--json')).stdout).arguments).toBe(text);
  });
});

describe('approve and reject', () => {
  it('ask for the digest that was seen where nobody can be asked', async () => {
    there();
    for (const command of [
      ['approve', 'acme#42'],
      ['reject', 'acme#42', '--json'],
      ['approve', 'call1', '--digest', 'AB'],
    ]) {
      const { code, stdout, stderr } = await at.holdpoint(...command);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('igest');
    }
    expect(at.asked).toEqual([]);
  });

  it('a vote that does not yet release: who is needed besides', async () => {
    there(voted);
    at.answers.set('POST /v1/approvals/call1/decision', { json: voted });
    const ended = await at.holdpoint('approve', 'call1', '--digest', digest);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain('acme#42 is still pending.\nYour vote counts; 1 more is needed from group risk');
    expect(ended.stdout).not.toContain('executed now');
  });

  it('archestra#6435: reject sends reject, with the digest that was given', async () => {
    there();
    at.answers.set('POST /v1/approvals/call1/decision', { json: { ...held, status: 'rejected' } });
    const seen = 'cd'.repeat(32);
    const ended = await at.holdpoint('reject', 'acme#42', '--digest', seen, '--reason', 'not now');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain('acme#42 is rejected.');
    expect(at.asked.at(-1)?.body).toEqual({ decision: 'reject', digest: seen, reason: 'not now' });
  });

  it('archestra#6435: approve sends approve; with --yes it decides on what stands there, and prints its digest', async () => {
    there();
    at.answers.set('POST /v1/approvals/call1/decision', { json: { ...held, status: 'approved' } });
    const ended = await at.holdpoint('approve', 'call1', '--yes');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain(`digest ${digest}\nacme#42 is approved.`);
    expect(at.asked.at(-1)?.body).toEqual({ decision: 'approve', digest });
  });

  it('say who was first, and when', async () => {
    there();
    const problem = {
      type: 'urn:holdpoint:problem:staging.call-closed',
      title: 'Conflict',
      status: 409,
      detail: `acme#42 was approved.${HOSTILE}`,
      code: 'staging.call-closed',
      decidedBy: { kind: 'person', id: 'ben' },
      decidedAt: '2026-01-01T00:00:00.000Z',
    };
    at.answers.set('POST /v1/approvals/call1/decision', { status: 409, json: problem });
    const told = await at.holdpoint('approve', 'call1', '--digest', digest);
    expect(told.code).toBe(1);
    expect(told.stderr).toContain('[staging.call-closed]');
    expect(told.stderr).toContain('Decided by ben at 2026-01-01T00:00:00.000Z');
    expect(told.stderr).not.toMatch(UNSAFE);
    const json = await at.holdpoint('approve', 'call1', '--digest', digest, '--json');
    expect(json).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.parse(json.stderr)).toEqual(problem);
    expect(json.stderr).not.toMatch(UNSAFE);
  });
});

describe('withdraw', () => {
  it('takes a held call back, unasked', async () => {
    there();
    at.answers.set('POST /v1/approvals/call1/withdraw', { json: { ...held, status: 'withdrawn' } });
    const ended = await at.holdpoint('withdraw', 'acme#42', '--reason', 'no longer wanted');
    expect(ended.code).toBe(0);
    expect(ended.stdout).toContain('acme#42 is withdrawn.');
    expect(at.asked.at(-1)?.body).toEqual({ reason: 'no longer wanted' });
  });
});

describe('settle, doubts, tasks', () => {
  it('settle by what a person found out', async () => {
    there();
    at.answers.set('POST /v1/calls/call1/settle', { json: { callId: 'call1', status: 'Ok' } });
    expect(await at.holdpoint('settle', 'acme#42', '--happened', '--note', 'saw it')).toMatchObject({ code: 0 });
    expect(at.asked.at(-1)?.body).toEqual({ happened: true, note: 'saw it' });
    expect(await at.holdpoint('settle', 'call1', '--did-not-happen', '--json')).toMatchObject({ code: 0 });
    expect(at.asked.at(-1)?.body).toEqual({ happened: false });
    const anew = { callId: 'call1', status: 'Error', proposedAnew: 'call2' };
    at.answers.set('POST /v1/calls/call1/settle', { json: anew });
    const proposed = await at.holdpoint('settle', 'call1', '--propose-anew');
    expect(proposed.code).toBe(0);
    expect(proposed.stdout + proposed.stderr).toContain('chain call2');
    expect(at.asked.at(-1)?.body).toEqual({ happened: false, proposeAnew: true });
    for (const wrong of [[], ['--happened', '--did-not-happen'], ['--happened', '--propose-anew']])
      expect(await at.holdpoint('settle', 'call1', ...wrong)).toMatchObject({ code: 2, stdout: '' });
  });

  it('list', async () => {
    const doubt = { callId: 'call1', spaceId: 'acme', runId: 'run1', agent: 'secretary', tool: 'Mail', action: 'send' };
    const since = '2026-01-01T00:00:00.000Z';
    at.answers.set('GET /v1/doubts', {
      json: { items: [{ ...doubt, attempt: 1, held: true, reason: 'lease-lapsed', since }] },
    });
    expect((await at.holdpoint('doubts')).stdout).toMatch(/call1 +acme +Mail\.send .*lease-lapsed/);
    at.answers.set('GET /v1/tasks?state=open&limit=200', { json: { items: [] } });
    expect((await at.holdpoint('tasks', '--state', 'open')).stdout).toBe('There are no tasks.\n');
    expect(await at.holdpoint('tasks', '--state', 'odd')).toMatchObject({ code: 2 });
  });
});

describe('chain', () => {
  const event = (data: object, type: 'run.started' | 'run.queued' = 'run.started') => {
    const json = {
      specversion: '1.0',
      id: 'e1',
      type,
      source: '/holdpoint/agent-engine',
      subject: 'run1',
      time: '2026-01-01T00:00:00.000Z',
      datacontenttype: 'application/json',
      dataschema: schemaUri(type, 1),
      spaceid: 'acme',
      runid: 'run1',
      data: { ...provenance, ...data },
    };
    return {
      seq: 7,
      subject: subjectOf(json as never),
      body: Buffer.from(JSON.stringify(json)).toString('base64'),
      log: 'equal',
    };
  };

  it('is printed event by event in plain words, from a run, else from a call', async () => {
    at.answers.set('GET /v1/calls/run1/chain', {
      json: { runId: 'run1', events: [event({ engine: `e1${HOSTILE}` })] },
    });
    const { stdout, code } = await at.holdpoint('chain', 'run1');
    expect(code).toBe(0);
    expect(stdout).toContain(
      'run.started       run …run1            the run starts with model scripted on engine "e1\\u{1b}',
    );
    expect(stdout).toContain('The log holds the same bytes.');
    expect(stdout).not.toMatch(UNSAFE);
    expect(at.asked.map((a) => a.url)).toEqual(['/v1/runs/run1/chain', '/v1/calls/run1/chain']);
  });

  it('says when log and stream differ, and when it cannot read an event', async () => {
    const odd = { ...event({}), body: Buffer.from('{').toString('base64'), subject: `x${HOSTILE}` };
    const events = [odd, { ...event({ engine: 'e' }), log: 'different' }, { ...event({ engine: 'e' }), log: 'absent' }];
    at.answers.set('GET /v1/runs/run1/chain', { json: { runId: 'run1', events } });
    const { stdout, code } = await at.holdpoint('chain', 'run1');
    expect(code).toBe(1);
    expect(stdout).toMatch(/7! 2026/);
    expect(stdout).toContain('WARNING: the log holds other bytes than the stream for 1 of them.');
    expect(stdout).toContain('not an event that this command can read');
    expect(stdout).not.toMatch(UNSAFE);
  });
});

describe('what goes wrong', () => {
  it('is told by a sentence and a code, and by nothing on stdout', async () => {
    const refused = {
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: 'No.',
      code: 'auth.token-unknown',
    };
    at.answers.set('GET /v1/approvals', { status: 401, json: refused });
    const told = await at.holdpoint('pending');
    expect(told).toMatchObject({ code: 1, stdout: '' });
    expect(told.stderr).toContain('No. [auth.token-unknown]');
    expect(told.stderr).toContain('--as <person>');
    expect(await at.holdpoint('show', 'nobody')).toMatchObject({ code: 1, stdout: '' });
    at.answers.set('GET /v1/approvals', { json: { nonsense: true } });
    expect((await at.holdpoint('pending')).stderr).toContain('[cli.unexpected-answer]');
    at.answers.set('GET /v1/approvals', { status: 502, text: '<html>' });
    expect((await at.holdpoint('pending')).stderr).toContain('answered 502');
  });

  it('is a usage error when it was typed wrongly, in JSON too', async () => {
    for (const typed of [
      [],
      ['nothing'],
      ['show'],
      ['show', 'ACME 1'],
      ['pending', '--bogus'],
      ['pending', '--as', 'eve'],
    ]) {
      expect(await at.holdpoint(...typed)).toMatchObject({ code: 2, stdout: '' });
      const json = await at.holdpoint(...typed, '--json');
      expect(json).toMatchObject({ code: 2, stdout: '' });
      expect(JSON.parse(json.stderr)).toMatchObject({ code: 'cli.usage', status: 400 });
    }
    expect(await at.holdpoint('--help')).toMatchObject({ code: 0, stderr: '' });
    expect(at.asked).toEqual([]);
  });

  it('repeats what was typed wrongly without obeying it', async () => {
    for (const typed of [[`x${HOSTILE}`], ['show', 'a', HOSTILE], ['pending', `--${HOSTILE}`]]) {
      const { code, stderr } = await at.holdpoint(...typed);
      expect(code).toBe(2);
      expect(stderr).not.toMatch(UNSAFE);
    }
    expect((await at.holdpoint(`x${HOSTILE}`)).stderr).toContain("unknown command 'x\\u{1b}[2J");
  });

  it('says to start the system when nothing runs', async () => {
    const away = await Installation.open();
    await rm(away.home, { recursive: true });
    expect((await away.holdpoint('pending')).stderr).toContain('npm start');
    await away.close();
    expect((await at.holdpoint('check')).stderr).toContain('npm start');
  });
});

describe('dead-letters', () => {
  const letter = {
    id: '7',
    service: 'staging',
    consumer: 'staging__policy_decided',
    seq: 12,
    type: 'policy.decided',
    spaceId: 'acme',
    entityId: 'call1',
    subject: 'policy.decided.acme.call1',
    attempts: 5,
    lastError: `TypeError at ${HOSTILE}`,
    state: 'dead',
    replayable: true,
    since: '2026-01-01T00:00:00.000Z',
    changedAt: '2026-01-01T00:00:00.000Z',
  };
  const failing = {
    status: 422,
    json: {
      type: 'about:blank',
      title: 'x',
      status: 422,
      code: 'eventing.replay-failed',
      detail: 'It failed again: y.',
    },
  };
  /** Every service answers under one address here, so that each shows the same letter. */
  const listed = () => at.answers.set('GET /v1/dead-letters', { json: { items: [letter] } });

  it('lists them over all services', async () => {
    listed();
    const ended = await at.holdpoint('dead-letters');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/staging +7 +policy\.decided +acme +call1 +12 +5 +dead/);
    expect(ended.stdout).not.toMatch(UNSAFE);
    expect(at.asked).toHaveLength(4);
    expect((await at.holdpoint('dead-letters', 'list', '--state', 'lost')).code).toBe(2);
  });

  it('replays one, and shows a second failure', async () => {
    at.answers.set('POST /v1/dead-letters/7/replay', { json: { id: '7', service: 'staging', state: 'replayed' } });
    expect(await at.holdpoint('dead-letters', 'replay', 'staging', '7')).toMatchObject({ code: 0 });
    at.answers.set('POST /v1/dead-letters/7/replay', failing);
    const ended = await at.holdpoint('dead-letters', 'replay', 'agent-engine', '7');
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('It failed again: y.') });
  });

  it('replays all', async () => {
    listed();
    at.answers.set('POST /v1/dead-letters/7/replay', failing);
    const ended = await at.holdpoint('dead-letters', 'replay', '--all');
    expect(ended.code).toBe(1);
    expect(ended.stdout.match(/It failed again: y\./g)).toHaveLength(4);
    for (const typed of [
      ['replay'],
      ['replay', 'staging'],
      ['replay', 'audit', '7'],
      ['replay', 'staging', '7', '--all'],
    ])
      expect((await at.holdpoint('dead-letters', ...typed)).code).toBe(2);
  });
});

describe('tasks', () => {
  const task = {
    id: 't1',
    spaceId: 'acme',
    conversationId: 't1',
    agent: 'secretary',
    kind: 'prompt',
    callId: null,
    state: 'open',
    attempt: 6,
    runId: null,
    dueAt: '2126-01-01T00:00:00.000Z',
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
    reason: null,
  };

  it('create, retry, cancel', async () => {
    at.answers.set('POST /v1/tasks', { status: 201, json: task });
    const typed = ['secretary', 'write', 'it', '--due', '2126-01-01T00:00:00Z', '--key', 'k'];
    const created = await at.holdpoint('tasks', 'create', ...typed);
    expect(created).toMatchObject({ code: 0, stdout: expect.stringContaining('Task t1 is open') });
    expect(at.asked[0]?.body).toEqual({
      agent: 'secretary',
      prompt: 'write it',
      dueAt: '2126-01-01T00:00:00.000Z',
      idempotencyKey: 'k',
    });
    expect((await at.holdpoint('tasks', 'create', 'secretary', 'x', '--due', 'soon')).code).toBe(2);
    at.answers.set('POST /v1/tasks/t1/retry', { json: task });
    expect(await at.holdpoint('tasks', 'retry', 't1')).toMatchObject({
      code: 0,
      stdout: 'Task t1 is open, attempt 6.\n',
    });
    at.answers.set('POST /v1/tasks/t1/cancel', { json: { ...task, state: 'cancelled' } });
    const cancelled = await at.holdpoint('tasks', 'cancel', 't1', '--json');
    expect(JSON.parse(cancelled.stdout)).toMatchObject({ state: 'cancelled' });
  });
});

describe('audit export', () => {
  const line = (value: object) => `${JSON.stringify(value)}\n`;
  const header = { kind: 'holdpoint-export', size: 4, filter: { spaces: ['acme'] }, content: 'sealed' };
  const events = [0, 1, 2, 3].map((index) => line({ kind: 'event', index, body: 'ü'.repeat(40_000) }));
  const entry = line({ kind: 'entry', streamSeq: 3 });
  const whole = line(header) + events.slice(0, 3).join('') + entry + events[3] + line({ kind: 'end', events: 4 });
  const type = 'application/jsonl; charset=utf-8';

  it('goes on where a file was cut off, and leaves alone what is no export', async () => {
    const out = join(at.home, 'log.jsonl');
    const cutBehind = (text: string) => whole.slice(0, whole.indexOf(text) + text.length);
    await writeFile(out, `${cutBehind(events[2] as string)}{"kind":"ent`);
    at.answers.set('GET /v1/audit/export', { text: whole.slice(cutBehind(events[1] as string).length), type });
    const ended = await at.holdpoint('audit', 'export', '--out', out);
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('is complete') });
    expect((await readFile(out, 'utf8')) === whole).toBe(true);
    expect(at.asked.map((a) => a.url)).toEqual(['/v1/audit/export?space=acme&size=4&after=1']);
    expect((await at.holdpoint('audit', 'export', '--out', out)).code).toBe(0);
    expect(at.asked).toHaveLength(1);

    await writeFile(out, cutBehind(events[2] as string));
    expect((await at.holdpoint('audit', 'export', '--tool', 'Mail', '--out', out)).code).toBe(2);
    await writeFile(out, 'something else\n');
    expect((await at.holdpoint('audit', 'export', '--out', out)).code).toBe(2);
    expect(await readFile(out, 'utf8')).toBe('something else\n');
  });

  it('that comes no further says so, and keeps what there is', async () => {
    const out = join(at.home, 'cut.jsonl');
    at.answers.set('GET /v1/audit/export', { text: line(header) + events[0], type });
    const ended = await at.holdpoint('audit', 'export', '--out', out);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('cli.export-cut') });
    expect((await readFile(out, 'utf8')).length).toBeGreaterThan(0);
  });
});

describe('audit error-rates', () => {
  it('shows how calls ended', async () => {
    const counts = { calls: 5, errors: 1, denied: 1, notFound: 0 };
    const item = { bucket: null, tool: `Mail${HOSTILE}`, action: 'send', ...counts, rate: 0.25 };
    at.answers.set('GET /v1/audit/tools/error-rates', { json: { items: [item] } });
    const ended = await at.holdpoint('audit', 'error-rates', '--from', '2026-01-01T00:00:00Z');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/5 +1 +1 +0 +25\.0 %/);
    expect(ended.stdout).not.toMatch(UNSAFE);
    expect(at.asked[0]?.url).toBe('/v1/audit/tools/error-rates?from=2026-01-01T00%3A00%3A00.000Z');
    expect((await at.holdpoint('audit', 'error-rates', '--bucket', 'minute')).code).toBe(2);
  });
  it('shows what was held, how long decisions took, and what outcomes cost', async () => {
    const of = { bucket: '2026-01-01T00:00:00.000Z', tool: 'Mail', action: 'send' };
    at.answers.set('GET /v1/audit/tools/held', { json: { items: [{ ...of, calls: 4, held: 3, share: 0.75 }] } });
    const times = { ...of, decided: 3, approved: 2, byPerson: 2, medianMs: 4_200, p95Ms: 7_200_000 };
    at.answers.set('GET /v1/audit/approvals/times', { json: { items: [times] } });
    const cost = { agent: `secretary${HOSTILE}`, outcomes: 2, runs: 3, unknownCosts: 1, perOutcome: null };
    at.answers.set('GET /v1/audit/costs', {
      json: { items: [{ bucket: null, ...cost, cost: { amount: '0.25', known: false } }] },
    });
    const day = ['--bucket', 'day'];
    expect((await at.holdpoint('audit', 'held', ...day)).stdout).toMatch(/2026-01-01T00:00:00\.000Z +4 +3 +75\.0 %/);
    expect((await at.holdpoint('audit', 'approval-times')).stdout).toMatch(/3 +2 +2 +4\.2 s +2\.0 h/);
    const costs = await at.holdpoint('audit', 'costs');
    expect(costs.stdout).toMatch(/2 +3 +0\.25 +1 +-/);
    expect(costs.stdout).not.toMatch(UNSAFE);
  });
});
