import { type CastVote, type PolicyCheckReply, USUAL_REQUIREMENT } from '@holdpoint/contracts';
import type { Stored } from '@holdpoint/eventing';
import { openDatabase } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import { defineAction, done, type Tool } from '../src/tools/tool.js';
import { startEngine, type TestEngine } from './engine.js';
import { approvalOf, verdictOn } from './events.js';
import { play, scriptOf, turn } from './script.js';

// What policy answers at a claim holds for a moment only, and by then the release has to be good enough still.

type Proposal = Stored<'tool.proposed'>;

const VALID_MS = 400;
const UNHELD = 20;
const HELD = 90;

let engine: TestEngine;
let answer: () => Partial<PolicyCheckReply>;
let asked = 0;
const received: string[] = [];
const ledger: Tool = {
  name: 'Ledger',
  description: 'Keeps what it is given.',
  actions: [
    defineAction({
      name: 'post',
      description: 'Posts an entry.',
      hint: 'write',
      scope: 'user',
      executionClass: 'at-most-once',
      schema: z.strictObject({ action: z.literal('post'), entry: z.string() }),
      timeoutMs: 1_000,
      run: async ({ entry }) => {
        received.push(entry);
        return done(`posted ${entry}`);
      },
    }),
  ],
};
const post = (entry: string) => ({ tool: 'Ledger', arguments: `{"action":"post","entry":"${entry}"}` });
const validFor = (ms: number) => new Date(Date.now() + ms).toISOString();
const allowed = () => ({ verdict: 'auto' as const, validUntil: validFor(VALID_MS) });

beforeAll(async () => {
  engine = await startEngine({
    policy: () => {
      asked += 1;
      return answer();
    },
    extraTools: [ledger],
    tools: ['Ledger'],
    script: scriptOf({
      one: play('Ledger', post('unheld').arguments),
      many: turn(Array.from({ length: HELD }, () => post('held'))),
    }),
    env: { STAGED_TIMEOUT_MS: '1', VERDICT_TIMEOUT_MS: '60000', RUN_LOST_AFTER_MS: '60000' },
  });
});
afterAll(() => engine.stop());

const begin = async (prompt: string, at: Partial<PolicyCheckReply> | (() => Partial<PolicyCheckReply>)) => {
  answer = typeof at === 'function' ? at : () => at;
  asked = 0;
  received.length = 0;
  const [callId = ''] = await engine.calls(await engine.run(prompt));
  return engine.stored('tool.proposed', callId);
};
const outcome = async (p: Proposal) => (await engine.stored('tool.executed', p.event.subject)).event.data;

describe('an answer that has run out when the claim is made', () => {
  it('is asked for again, and the call runs once', async () => {
    const p = await begin('one', () => ({ verdict: 'auto', validUntil: validFor(asked === 1 ? -1 : 5_000) }));
    await engine.as.policy.publish(verdictOn(p, 'auto'));
    expect(await outcome(p)).toMatchObject({ status: 'Ok', attempt: 1 });
    expect([asked, received]).toEqual([2, ['unheld']]);
  });

  it('every time: the call does not run, and the model is told so', async () => {
    const p = await begin('one', () => ({ verdict: 'auto', validUntil: validFor(-1) }));
    await engine.as.policy.publish(verdictOn(p, 'auto'));
    expect(await outcome(p)).toMatchObject({ status: 'Denied', reason: 'policy.unreachable' });
    expect([asked, received]).toEqual([4, []]);
  });
});

describe('a commit of the claim that takes longer than the answer holds', () => {
  const SLOW = 4711;
  /** Long enough for a busy machine to come to the commit, short enough to be waited for. */
  const HELD_UP_MS = 1_500;
  const passes = () => ({ verdict: 'auto' as const, validUntil: validFor(HELD_UP_MS) });
  let superuser: Kysely<never>;
  beforeAll(() => {
    superuser = openDatabase<never>(engine.superuserUrl, { max: 2 });
  });
  afterAll(() => superuser.destroy());

  /**
   * Has the commit wait for a lock that the test holds, until the answer has run out. Deferred triggers fire in the order of
   * their names: `a_slow` before the database looks at the answer, `z_slow` behind it, as a slow disk would.
   */
  const slowly = async (
    trigger: 'a_slow' | 'z_slow',
    begin: () => Promise<unknown>,
    then: Partial<PolicyCheckReply>,
  ) => {
    await sql`
      CREATE OR REPLACE FUNCTION agent_engine.slow() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock(${sql.lit(SLOW)}); RETURN NULL; END'`.execute(superuser);
    await sql`
      CREATE CONSTRAINT TRIGGER ${sql.id(trigger)} AFTER INSERT ON agent_engine.executions
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION agent_engine.slow()`.execute(superuser);
    try {
      await superuser.transaction().execute(async (tx) => {
        await sql`SELECT pg_advisory_xact_lock(${sql.lit(SLOW)})`.execute(tx);
        await begin();
        const waiting = sql`SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND objid = ${SLOW}`;
        await eventually(async () => (await waiting.execute(superuser)).rows.length > 0, { what: 'the commit' });
        const ranOut = Date.now() + HELD_UP_MS;
        answer = () => ({ ...then, validUntil: validFor(10_000) });
        await eventually(() => Date.now() > ranOut, { what: 'the end of the answer' });
      });
    } finally {
      await sql`DROP TRIGGER ${sql.id(trigger)} ON agent_engine.executions`.execute(superuser);
    }
  };
  const halted = { verdict: 'deny', halted: true, reason: 'halted' } as const;

  it.each([
    [
      'before the database looks at the answer, halted meanwhile: nothing is claimed',
      'a_slow',
      halted,
      'Denied halted',
    ],
    ['behind it, halted meanwhile: the effect does not begin', 'z_slow', halted, 'Error tool.did-not-happen'],
    ['behind it, still allowed: asked again, it runs', 'z_slow', { verdict: 'auto' }, 'Ok'],
  ] as const)('%s', async (_, trigger, then, expected) => {
    const p = await begin('one', passes);
    await slowly(trigger, () => engine.as.policy.publish(verdictOn(p, 'auto')), then);
    const { status, reason } = await outcome(p);
    expect(`${status} ${reason ?? ''}`.trim()).toBe(expected);
    expect(asked).toBeGreaterThanOrEqual(2);
    expect(received).toEqual(expected === 'Ok' ? ['unheld'] : []);
    const started = await engine.reader.last('tool.started', 'acme', p.event.subject);
    expect(started === null).toBe(expected === 'Denied halted');
  });

  it('of a released call, denied meanwhile: nothing is claimed', async () => {
    const p = await begin('one', passes);
    await engine.as.policy.publish(verdictOn(p, 'approve'));
    await slowly('a_slow', () => engine.as.staging.publish(approvalOf(p)), { verdict: 'deny' });
    expect(await outcome(p)).toMatchObject({ status: 'Denied', held: true, reason: 'policy.denied' });
    expect(asked).toBeGreaterThanOrEqual(2);
    expect(received).toEqual([]);
    expect(await engine.reader.last('tool.started', 'acme', p.event.subject)).toBeNull();
  });
});

describe('approved → at the claim the votes are held against what is asked for by then', () => {
  const two = { ...USUAL_REQUIREMENT, votes: 2 };
  const bo: CastVote = { by: 'bo', role: 'admin', groups: [] };
  const ada: CastVote = { by: 'ada', role: 'owner', groups: ['risk'] };
  it.each<[string, Partial<PolicyCheckReply>, { votes?: CastVote[] }, object]>([
    [
      'stricter: two are asked for, one voted',
      { verdict: 'approve', requirements: [two] },
      {},
      { status: 'Denied', reason: 'approval.insufficient' },
    ],
    [
      'stricter: two are asked for, two voted',
      { verdict: 'approve', requirements: [two] },
      { votes: [ada, bo] },
      { status: 'Ok' },
    ],
    [
      'stricter: a group is asked for besides, nobody of it voted',
      { verdict: 'approve', requirements: [two, { ...USUAL_REQUIREMENT, roles: [], groups: ['legal'] }] },
      { votes: [ada, bo] },
      { status: 'Denied', reason: 'approval.insufficient' },
    ],
    ['as before: the usual is asked for, one voted', { verdict: 'approve' }, {}, { status: 'Ok' }],
    ['looser: nothing is asked for any more', { verdict: 'auto' }, {}, { status: 'Ok' }],
    ['denied', { verdict: 'deny' }, { votes: [ada, bo] }, { status: 'Denied', reason: 'policy.denied' }],
  ])('%s', async (_, at, release, expected) => {
    const p = await begin('one', at);
    await engine.as.policy.publish(verdictOn(p, 'approve'));
    await engine.as.staging.publish(approvalOf(p, release));
    expect(await outcome(p)).toMatchObject({ held: true, ...expected });
    expect(received).toEqual('reason' in expected ? [] : ['unheld']);
  });
  // halted at the claim: the last test of this file
});

it('a halt: once it is answered no call is claimed that policy had let through before; what is held waits for its end', async () => {
  answer = allowed;
  received.length = 0;
  const many = await engine.run('many');
  const held: Proposal[] = [];
  for (const callId of await engine.calls(many, HELD)) {
    const p = await engine.stored('tool.proposed', callId);
    await engine.as.policy.publish(verdictOn(p, 'approve'));
    held.push(p);
  }
  await engine.ended(many);
  const unheld = await Promise.all(
    Array.from({ length: UNHELD }, async () => {
      const [callId = ''] = await engine.calls(await engine.run('one'));
      return engine.stored('tool.proposed', callId);
    }),
  );

  asked = 0;
  let haltedAt = 0;
  // the claims wait for the table, with an answer in hand that lets them through
  await engine.db.transaction().execute(async (tx) => {
    await sql`LOCK TABLE executions IN EXCLUSIVE MODE`.execute(tx);
    await Promise.all([
      ...held.map((p) => engine.as.staging.publish(approvalOf(p))),
      ...unheld.map((p) => engine.as.policy.publish(verdictOn(p, 'auto'))),
    ]);
    await eventually(() => asked >= 10, { what: 'calls that policy lets through' });
    haltedAt = Date.now();
    answer = () => ({ verdict: 'deny', halted: true, reason: 'halted', validUntil: validFor(VALID_MS) });
    await eventually(() => Date.now() > haltedAt + VALID_MS, { what: 'the halt to be answered' });
  });

  const denied = await Promise.all(unheld.map(outcome));
  console.info(`${UNHELD} unheld and ${HELD} held calls stopped ${Date.now() - haltedAt} ms after the halt`);
  expect(new Set(denied.map((d) => `${d.status} ${d.reason}`))).toEqual(new Set(['Denied halted']));
  expect(received).toEqual([]);
  const claimed = await engine.db.selectFrom('executions').select('call_id').where('state', '=', 'executing').execute();
  expect(claimed).toEqual([]);

  answer = allowed;
  for (const p of held) expect((await outcome(p)).status).toBe('Ok');
  expect(received).toHaveLength(HELD);
}, 60_000);
