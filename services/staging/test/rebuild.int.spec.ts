import { type ApprovalRequirement, projectionTables, USUAL_REQUIREMENT } from '@holdpoint/contracts';
import { newEvent, newId } from '@holdpoint/eventing';
import { loseSchema, lostAndRebuilt, rebuild, recoveryOf, untilQuiet } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { projection } from '../src/domain/projection.js';
import { call, openStaging, type Proposal, type StagingFixture } from './fixture.js';

const ROUNDS = process.env['HOLDPOINT_DEEP'] ? 200 : 2;
const TWO: ApprovalRequirement = { ...USUAL_REQUIREMENT, votes: 2 };

let fixture: StagingFixture;
let url: string;
let stop: () => Promise<void>;
beforeAll(async () => {
  fixture = await openStaging();
  ({ url, close: stop } = await fixture.start({ EXPIRY_SWEEP_MS: '50' }));
});
afterAll(() => fixture.close());

const decide = (who: 'olga' | 'adam', p: Proposal, decision: 'approve' | 'reject', reason?: string) =>
  call(url, who, `/v1/approvals/${p.subject}/decision`, {
    decision,
    digest: p.data.call.digest,
    ...(reason ? { reason } : {}),
  });
const about = (p: Proposal) => ({ spaceId: p.spaceid, entityId: p.subject, runId: 'run1' });
const started = (p: Proposal, attempt = 1) =>
  fixture.engine.publish(newEvent('tool.started', { ...about(p), data: { call: p.data.call, attempt, held: true } }));
const executed = (p: Proposal, held: boolean, status: 'Ok' | 'Denied' = 'Ok') =>
  fixture.engine.publish(
    newEvent('tool.executed', {
      ...about(p),
      data: { call: p.data.call, status, held, result: null, cancelled: false, durationMs: 1 },
    }),
  );
const inDoubt = (p: Proposal) =>
  fixture.engine.publish(
    newEvent('tool.in-doubt', {
      ...about(p),
      data: { call: p.data.call, attempt: 1, held: true, reason: 'lease-lapsed', note: null },
    }),
  );
const held = async (requirements: ApprovalRequirement[] | null = null, expiresAfterSeconds = 3600) => {
  const traceparent = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
  const data = requirements === null ? {} : { requirements };
  return (await fixture.held({ traceparent }, { data, expiresAfterSeconds })).proposal;
};

/** Every way that a held call can go, and calls that are not held. */
async function play(): Promise<void> {
  await held();
  await decide('olga', await held(), 'approve');
  const rejected = await held();
  await decide('adam', rejected, 'reject', 'not like that');
  const withdrawn = await held();
  await call(url, 'mia', `/v1/approvals/${withdrawn.subject}/withdraw`, {});
  const done = await held();
  await decide('olga', done, 'approve', 'go on');
  await started(done);
  await executed(done, true);
  const doubted = await held();
  await decide('adam', doubted, 'approve');
  await started(doubted);
  await inDoubt(doubted);
  const voted = await held([TWO]);
  await decide('olga', voted, 'approve', 'one');
  await decide('adam', voted, 'approve', 'two');
  await decide('olga', await held([TWO]), 'approve');
  await held(null, 1);
  const denied = await fixture.draft();
  await fixture.judged(denied, { verdict: 'deny' });
  await executed(denied, false, 'Denied');
  const abandoned = await fixture.draft();
  const { seq } = await fixture.engine.publish(abandoned);
  await fixture.engine.publish(
    newEvent('tool.abandoned', { ...about(abandoned), data: { call: abandoned.data.call, reason: 'no-verdict' } }),
  );
  await fixture.judge.publish(fixture.verdictOn(abandoned, seq));
}

test('held calls, votes, decisions and what became of them are built anew from the stream, row by row', async () => {
  for (let i = 0; i < ROUNDS; i++) await play();
  const expiring = await fixture.superuser
    .selectFrom('frozen_calls')
    .select('call_id')
    .orderBy('expires_at')
    .limit(ROUNDS)
    .execute();
  for (const { call_id } of expiring) await fixture.overdue(call_id);
  await untilQuiet(fixture.database, fixture.server, 'staging');
  await stop();
  const { before, looked, rebuilt, after, lines } = await lostAndRebuilt(fixture.database, fixture.server, 'staging');
  expect(looked.named).toEqual([]);
  expect(Object.keys(before)).toEqual(projectionTables(projection));
  const statuses = new Set(before['frozen_calls']?.map((r) => (r as { status: string }).status));
  expect([...statuses].sort()).toEqual(['approved', 'expired', 'pending', 'rejected', 'withdrawn']);
  expect(before['votes']?.length).toBe(3 * ROUNDS);
  expect(after).toEqual(before);
  expect(rebuilt.unanswered).toEqual(new Map());
  if (process.env['HOLDPOINT_DEEP']) console.log(lines.join('\n'));
});

test('a verdict that was not acted upon is named; what holds is guarded as before', async () => {
  const proposal = await fixture.draft({ conversationId: newId() });
  await fixture.judged(proposal);
  await loseSchema(fixture.database, 'staging');
  const { unanswered } = await rebuild(recoveryOf(fixture.database, fixture.server), 'staging');
  expect([...unanswered.keys()]).toEqual(['staging__policy_decided']);
  const change = fixture.superuser
    .updateTable('frozen_calls')
    .set({ status: 'approved' })
    .where('status', '=', 'rejected');
  await expect(change.execute()).rejects.toThrow(/is decided/);
});
