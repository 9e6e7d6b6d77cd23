import type { PolicyCheckReply } from '@holdpoint/contracts';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { ALLOWED, call, openStaging, type StagingFixture } from './fixture.js';

// What policy answers when a person decides holds for a moment only, and the decision is stored within it or not at all.

let fixture: StagingFixture;
let url: string;
beforeAll(async () => {
  fixture = await openStaging();
  ({ url } = await fixture.start());
});
afterAll(() => fixture.close());
beforeEach(() => {
  fixture.policy.asked = 0;
});

type Held = Awaited<ReturnType<StagingFixture['held']>>;
const approve = ({ row }: Held) =>
  call(url, 'olga', `/v1/approvals/${row.call_id}/decision`, { decision: 'approve', digest: row.digest });
const statusOf = async ({ row }: Held) => (await fixture.rowOf(row.call_id))?.status;

/** Each time it is asked the answer is good for so long. */
const validFor = (ms: (nth: number) => number, more: Partial<PolicyCheckReply> = {}): PolicyCheckReply => ({
  ...ALLOWED,
  ...more,
  get validUntil() {
    return new Date(Date.now() + ms(fixture.policy.asked)).toISOString();
  },
});

test('an answer that has run out is asked for again', async () => {
  const h = await fixture.held();
  fixture.policy.answer = validFor((nth) => (nth === 1 ? -1 : 10_000));
  expect((await approve(h)).status).toBe(200);
  expect([fixture.policy.asked, await statusOf(h)]).toEqual([2, 'approved']);
});

test('one that has always run out decides nothing, and the call still waits', async () => {
  const h = await fixture.held();
  fixture.policy.answer = validFor(() => -1);
  expect(await approve(h)).toMatchObject({ status: 503, body: { code: 'staging.policy-unavailable' } });
  expect([fixture.policy.asked, await statusOf(h)]).toEqual([4, 'pending']);
  expect(await fixture.decisionOn(h.row.call_id)).toBeNull();
});

test.each<[string, Partial<PolicyCheckReply>, string, string]>([
  ['halted', { verdict: 'deny', halted: true }, 'staging.halted', 'pending'],
  ['denied', { verdict: 'deny' }, 'staging.call-withdrawn', 'withdrawn'],
])(
  '%s while the decision waited for the call’s row: the answer from before releases nothing',
  async (_, now, code, status) => {
    const h = await fixture.held();
    fixture.policy.answer = validFor(() => 300);
    const deciding = await fixture.superuser.transaction().execute(async (tx) => {
      await sql`SELECT FROM staging.frozen_calls WHERE call_id = ${h.row.call_id} FOR UPDATE`.execute(tx);
      const decision = approve(h);
      await eventually(() => fixture.policy.asked === 1 || undefined, { what: 'the answer from before' });
      const until = Date.now() + 300;
      fixture.policy.answer = validFor(() => 10_000, now);
      await eventually(() => Date.now() > until || undefined, { what: 'the end of that answer' });
      return { decision };
    });
    expect(await deciding.decision).toMatchObject({ status: 409, body: { code } });
    expect(await statusOf(h)).toBe(status);
  },
);
