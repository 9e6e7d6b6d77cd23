import { eventually, sampled } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { Closer } from '../src/closer.js';
import type { Closing } from '../src/store/frozen-calls.js';
import { call, openStaging, type StagingFixture } from './fixture.js';

const RACERS = 50;
const ROUNDS = sampled(40, 200);

let fixture: StagingFixture;
let instances: Awaited<ReturnType<StagingFixture['start']>>[];
beforeAll(async () => {
  fixture = await openStaging();
  instances = await Promise.all([fixture.start(), fixture.start()]);
});
afterAll(() => fixture.close());

const held = async (count: number) => {
  const drafts = await Promise.all(Array.from({ length: count }, () => fixture.draft()));
  for (const draft of drafts) await fixture.judged(draft);
  await Promise.all(drafts.map((d) => fixture.stagedRow(d.subject)));
  return drafts;
};
const decisionsStored = (count: number) =>
  eventually(async () => {
    const { rows } = await sql<{ events: number; calls: number }>`
      SELECT count(*)::int AS events, count(DISTINCT subject)::int AS calls FROM staging.outbox
      WHERE subject LIKE 'approval.decided.%' AND sent_at IS NOT NULL`.execute(fixture.superuser);
    return rows[0]?.calls === count ? rows[0] : null;
  });

test(`Archon#2146: ${ROUNDS} rounds of 50 racing approvals and rejections have one winner each`, async () => {
  const closers = instances.map((i) => i.app.get(Closer));
  const drafts = await held(ROUNDS);
  const won = { approved: 0, rejected: 0 };
  for (const { subject: id } of drafts) {
    const outcomes = await Promise.all(
      Array.from({ length: RACERS }, async (_, i) => {
        const status = Math.floor(i / 2) % 2 === 0 ? 'approved' : 'rejected';
        const closing: Closing = { status, by: `p${i}`, cause: 'person', decidedUnder: 'v', reason: null };
        return { by: closing.by, status, ...(await (closers[i % 2] as Closer).close(id, closing)) } as const;
      }),
    );
    const [winner, ...others] = outcomes.filter((o) => o.won);
    expect(winner).toBeDefined();
    expect(others).toEqual([]);
    // everybody is told the same: who was first, and when
    for (const o of outcomes)
      expect(o.call).toMatchObject({
        status: winner?.status,
        decided_by: winner?.by,
        decided_at: winner?.call.decided_at,
      });
    won[winner?.status ?? 'approved'] += 1;
  }
  expect(won.approved + won.rejected).toBe(drafts.length);
  expect(await decisionsStored(ROUNDS)).toEqual({ events: ROUNDS, calls: ROUNDS });
}, 180_000);

test('10 rounds of 50 people who approve at two instances at once have one winner each', async () => {
  const drafts = await held(10);
  for (const { subject: id, data } of drafts) {
    const answers = await Promise.all(
      Array.from({ length: RACERS }, (_, i) =>
        call(instances[i % 2]?.url ?? '', i % 3 === 0 ? 'olga' : 'adam', `/v1/approvals/${id}/decision`, {
          decision: 'approve',
          digest: data.call.digest,
        }),
      ),
    );
    const [winner, ...others] = answers.filter((a) => a.status === 200);
    expect(others).toEqual([]);
    for (const lost of answers.filter((a) => a !== winner))
      expect(lost).toMatchObject({
        status: 409,
        body: { code: 'staging.call-closed', decidedBy: winner?.body.decidedBy, decidedAt: winner?.body.decidedAt },
      });
  }
  expect(await decisionsStored(ROUNDS + 10)).toEqual({ events: ROUNDS + 10, calls: ROUNDS + 10 });
}, 180_000);
