import { type PolicyCheckReply, policyCheckReply, USUAL_REQUIREMENT } from '@holdpoint/contracts';
import { openDatabase } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { RATE_LIMIT } from '../src/domain/rules.js';
import { RateCalls } from '../src/store/rate-calls.js';
import type { PolicyDatabase } from '../src/store/schema.js';
import type { Proposing } from './fixture.js';
import { openSpaces, type SpacesFixture } from './spaces-fixture.js';

// Every decision, and every answer to the second question, is made from rows as they are at that moment.

const SPACE = 'acme';
let spaces: SpacesFixture;
beforeAll(async () => {
  spaces = await openSpaces({ HOLDPOINT_OPERATORS: 'ada' });
  await spaces.found(SPACE);
}, 60_000);
afterAll(() => spaces.close());

const verdictOn = (callId: string) =>
  eventually(() => spaces.verdictOn(callId), { what: `a verdict on ${callId}` }).then((v) => v.event.data);
const judged = async (p: Proposing) => verdictOn((await spaces.propose(p)).event.subject);

const CHECKED = {
  moment: 'decision',
  callId: 'c1',
  spaceId: SPACE,
  agent: 'assistant',
  principal: { kind: 'person', id: 'mia' },
  server: 'builtin',
  tool: 'Mail',
  action: 'send',
  hint: 'write',
  scope: 'user',
  origin: 'builtin',
};
const checked = async (more: object = {}): Promise<PolicyCheckReply> => {
  const { status, body } = await spaces.ask('staging', 'POST', '/internal/policy/check', { ...CHECKED, ...more });
  expect(status).toBe(200);
  return policyCheckReply.strict().parse(body);
};
const as = async (who: string, method: string, path: string, body: object) => {
  const answer = await spaces.ask(who, method, path, body);
  expect([answer.status, answer.body]).toEqual([expect.any(Number), expect.anything()]);
  expect(answer.status).toBeLessThan(300);
  return answer.body as Record<string, string>;
};
const setRules = (...rules: object[]) => as('ada', 'PUT', `/api/v1/spaces/${SPACE}/rules`, { rules });

describe('the answer to the second question follows the rows while a call waits', () => {
  const two = { ...USUAL_REQUIREMENT, votes: 2 };

  test('at first, as the verdict was', async () => {
    const first = await judged({});
    expect(first).toMatchObject({ verdict: 'approve', rule: 'builtin: Mail.send' });
    expect(first).not.toHaveProperty('requirements');
    expect(await checked()).toMatchObject({
      verdict: 'approve',
      requirements: [USUAL_REQUIREMENT],
      policyVersion: first.policyVersion,
    });
  });

  test('it is good for a moment of the database’s clock', async () => {
    const { validUntil = '' } = await checked();
    const { rows } = await sql<{ left: number }>`
      SELECT (extract(epoch FROM ${validUntil}::timestamptz - clock_timestamp()) * 1000)::float8 AS left`.execute(
      spaces.db,
    );
    expect(rows[0]?.left).toBeLessThanOrEqual(75);
  });

  test.each<[string, object[], Partial<PolicyCheckReply>]>([
    [
      'stricter: more votes',
      [{ tool: 'Mail', action: 'send', verdict: 'approve', requirement: two }],
      { verdict: 'approve', rule: 'builtin: Mail.send', requirements: [two] },
    ],
    ['looser', [{ tool: 'Mail', action: 'send', verdict: 'auto' }], { verdict: 'auto', rule: 'space: Mail.send' }],
    ['denied', [{ tool: 'Mail', verdict: 'deny' }], { verdict: 'deny', halted: false, rule: 'space: Mail' }],
    [
      'for this agent alone',
      [{ agent: 'cleaner', verdict: 'deny' }],
      { verdict: 'approve', rule: 'builtin: Mail.send' },
    ],
  ])('%s', async (_, rules, expected) => {
    const before = await checked();
    await setRules(...rules);
    const now = await checked({ votes: [{ by: 'ada', role: 'owner', groups: [] }] });
    expect(now).toMatchObject(expected);
    expect(now.policyVersion).not.toBe(before.policyVersion);
    // a proposal is judged by the same rows
    const { verdict, rule } = await judged({});
    expect({ verdict, rule }).toEqual({ verdict: now.verdict, rule: now.rule });
  });

  test.each([
    ['the agent', { scope: 'agent', spaceId: SPACE, agent: 'assistant' }],
    ['the space', { scope: 'space', spaceId: SPACE }],
    ['everything', { scope: 'everything' }],
  ])('halted: %s, until it is lifted', async (_, halt) => {
    await setRules();
    const { id } = await as('ada', 'POST', '/api/v1/halts', { ...halt, reason: 'something is wrong' });
    expect(await checked()).toMatchObject({ verdict: 'deny', halted: true, reason: 'halted' });
    expect(await judged({})).toMatchObject({ verdict: 'deny', reason: 'halted', rule: `halt: ${halt.scope}` });
    await as('ada', 'POST', `/api/v1/halts/${id}/lift`, {});
    expect(await checked()).toMatchObject({ verdict: 'approve', halted: false });
  });

  test('an opt-in runs, and a revoke that was answered stops the next one', async () => {
    const purge = { tool: 'FileRW', action: 'purge_folder', hint: 'destructive' as const };
    const allow = (allowDestructive: string[]) =>
      as('ada', 'PUT', `/api/v1/spaces/${SPACE}/policy`, { allowDestructive, acknowledged: true });
    expect(await judged(purge)).toMatchObject({ verdict: 'deny', reason: 'destructive-not-allowed' });
    await allow(['FileRW.purge_folder']);
    expect(await judged(purge)).toMatchObject({ verdict: 'auto' });
    expect(await checked(purge)).toMatchObject({ verdict: 'auto' });
    await allow([]);
    expect(await checked(purge)).toMatchObject({ verdict: 'deny', reason: 'destructive-not-allowed' });
    expect(await judged(purge)).toMatchObject({ verdict: 'deny', reason: 'destructive-not-allowed' });
  });
});

describe('the registry', () => {
  test('what was declared counts, whatever the call says of itself', async () => {
    expect(await judged({ tool: 'FileRW', action: 'purge_folder', hint: 'read' })).toMatchObject({
      verdict: 'deny',
      reason: 'destructive-not-allowed',
    });
    expect(await judged({ tool: 'FileRW', action: 'list' })).toMatchObject({ flags: ['undeclared-action'] });
  });

  test('a tool that is announced after the proposal is waited for', async () => {
    const { event } = await spaces.propose({ tool: 'Clock', action: 'now', hint: 'read' });
    await spaces.announce(SPACE, 'clock', {
      tool: 'Clock',
      actions: [{ name: 'now', description: '', hint: 'read', scope: 'user', executionClass: 'idempotent' }],
    });
    expect(await verdictOn(event.subject)).toMatchObject({ verdict: 'auto' });
  });

  test('a tool that nobody announces is not found, and so is one of another agent', async () => {
    await spaces.announce(SPACE, 'safe', { tool: 'Safe', agents: ['cleaner'] });
    const verdicts = await Promise.all([
      judged({ tool: 'Bomb', action: 'go' }),
      judged({ tool: 'Safe', action: null }),
    ]);
    for (const verdict of verdicts) expect(verdict).toMatchObject({ verdict: 'deny', reason: 'not-found' });
  }, 30_000);
});

describe('the rate limit', () => {
  const call = (callId: string, user: string, at: Date) => ({
    callId,
    spaceId: SPACE,
    principal: { kind: 'person' as const, id: user },
    server: 'builtin',
    tool: 'Mail',
    at,
  });
  const rows = (user: string) => spaces.db.selectFrom('rate_calls').selectAll().where('user_id', '=', user).execute();

  test('of 100 calls that race over two instances exactly 30 pass; held calls count, refused ones do not', async () => {
    await spaces.another();
    const refused = await Promise.all(
      Array.from({ length: 5 }, () => spaces.propose({ principal: 'racer', action: 'expunge', hint: 'destructive' })),
    );
    const all = await Promise.all(Array.from({ length: 100 }, () => spaces.propose({ principal: 'racer' })));
    const verdicts = await Promise.all(all.map((p) => verdictOn(p.event.subject)));
    expect(verdicts.filter((v) => v.verdict === 'approve')).toHaveLength(RATE_LIMIT.calls);
    expect(new Set(verdicts.filter((v) => v.verdict !== 'approve').map((v) => v.reason))).toEqual(
      new Set(['rate-limit-exceeded']),
    );
    for (const p of refused) expect((await verdictOn(p.event.subject)).reason).toBe('destructive-not-allowed');
    const counted = await rows('racer');
    expect(counted).toHaveLength(100);
    expect(counted.filter((r) => r.passed)).toHaveLength(RATE_LIMIT.calls);
    expect(await judged({ principal: 'somebody-else' })).toMatchObject({ verdict: 'approve' });
    expect(await judged({ principal: 'racer', tool: 'FileRW', action: 'read', hint: 'read' })).toMatchObject({
      verdict: 'auto',
    });
  }, 60_000);

  test('of 100 calls that are counted at the same moment by two services exactly 30 pass', async () => {
    const pools = [1, 2].map(() => openDatabase<PolicyDatabase>(spaces.url('policy'), { max: 10 }));
    const services = pools.map((db) => new RateCalls(db.withSchema('policy')));
    const at = new Date();
    const passed = await Promise.all(
      Array.from({ length: 100 }, (_, i) => services[i % 2]?.passes(call(`at-once-${i}`, 'at-once', at), RATE_LIMIT)),
    );
    expect(passed.filter(Boolean)).toHaveLength(RATE_LIMIT.calls);
    await Promise.all(pools.map((db) => db.destroy()));
  });

  test('a call that is judged again finds its own row, and what is a day old is forgotten', async () => {
    const calls = new RateCalls(spaces.db);
    const limit = { calls: 1, seconds: 60 };
    const now = new Date();
    const old = call('old', 'again', new Date(now.getTime() - 25 * 3_600_000));
    expect(await calls.passes(old, limit)).toBe(true);
    for (let time = 0; time < 3; time += 1) {
      expect(await calls.passes(call('first', 'again', now), limit)).toBe(true);
      expect(await calls.passes(call('second', 'again', now), limit)).toBe(false);
    }
    await calls.forget();
    expect((await rows('again')).map((r) => r.call_id).toSorted()).toEqual(['first', 'second']);
  });
});
