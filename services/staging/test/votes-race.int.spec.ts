import { type ApprovalRequirement, type EventData, released, USUAL_REQUIREMENT } from '@holdpoint/contracts';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { call, openStaging, type Person, type StagingFixture } from './fixture.js';

/** Sampled: with HOLDPOINT_DEEP=1 each test has 20 times as many rounds. */
const rounds = (few: number) => few * (process.env['HOLDPOINT_DEEP'] === '1' ? 20 : 1);
const RACERS = 50;
const TEN: ApprovalRequirement = { ...USUAL_REQUIREMENT, roles: [], groups: ['risk', 'ops'], votes: 10, fromGroups: 2 };

let fixture: StagingFixture;
let urls: string[];
const voters = Array.from({ length: RACERS }, (_, i): Person => `v${i}`);
beforeAll(async () => {
  fixture = await openStaging();
  fixture.members(Object.fromEntries(voters.map((v, i) => [v, [i % 2 === 0 ? 'risk' : 'ops']])));
  const instances = await Promise.all([fixture.start(), fixture.start()]);
  urls = instances.map((i) => i.url);
});
afterAll(() => fixture.close());

/** Everybody decides at once, at two instances. */
async function race(people: readonly Person[], decisionOf: (i: number) => 'approve' | 'reject' = () => 'approve') {
  const { proposal } = await fixture.held({}, { data: { requirements: [TEN] } });
  const id = proposal.subject;
  const answers = await Promise.all(
    people.map((who, i) =>
      call(urls[i % 2] ?? '', who, `/v1/approvals/${id}/decision`, {
        decision: decisionOf(i),
        digest: proposal.data.call.digest,
      }),
    ),
  );
  for (const { status, body } of answers)
    expect(status === 200 ? '' : `${status} ${body.code}`).toMatch(/^(409 staging\.call-closed)?$/);
  return { id, answers };
}

/** What is stored of a call that was decided: exactly one decision, and a vote for each event. */
async function storedOf(id: string): Promise<{ decision: EventData<'approval.decided'>; voters: string[] }> {
  const decided = await eventually(() => fixture.decisionOn(id), { what: `a decision on ${id}` });
  const { rows } = await sql<{ type: string; by: string }>`
    SELECT split_part(subject, '.', 2) AS type, body::jsonb #>> '{data,by,id}' AS by
    FROM staging.outbox WHERE subject LIKE ${`approval.%.${id}`} ORDER BY id`.execute(fixture.superuser);
  const votes = await fixture.superuser.selectFrom('votes').select('voter').where('call_id', '=', id).execute();
  const told = rows.filter((r) => r.type === 'voted').map((r) => r.by);
  expect(rows.filter((r) => r.type === 'decided')).toHaveLength(1);
  // nothing is told of a call after its decision
  expect(rows.at(-1)?.type).toBe('decided');
  expect([...told].sort()).toEqual(votes.map((v) => v.voter).sort());
  return { decision: decided.event.data, voters: told };
}

test(`${rounds(3)} rounds of 50 people who vote at once, 10 votes are needed: one release each, by votes that suffice`, async () => {
  for (let i = 0; i < rounds(3); i++) {
    const { id, answers } = await race(voters);
    const { decision, voters: told } = await storedOf(id);
    expect(answers.filter((a) => a.body.status === 'approved')).toHaveLength(1);
    expect(decision.decision).toBe('approved');
    expect(released([TEN], decision.votes ?? [], decision.call.principal)).toBe(true);
    for (const { by } of decision.votes ?? []) expect(told).toContain(by);
    expect(decision.votes?.map((v) => v.by)).toContain(decision.by?.id);
  }
}, 600_000);

test(`${rounds(6)} rounds of the 10 people whose votes are needed: none is lost, and the last one releases`, async () => {
  for (let i = 0; i < rounds(6); i++) {
    const { id } = await race(voters.slice(0, 10));
    const { decision, voters: told } = await storedOf(id);
    expect(decision).toMatchObject({ decision: 'approved' });
    expect(decision.votes).toHaveLength(10);
    expect(told).toHaveLength(10);
  }
}, 600_000);

test(`${rounds(3)} rounds of votes against rejections: one decision each`, async () => {
  const ends = new Set<string>();
  for (let i = 0; i < rounds(3); i++) {
    const { id, answers } = await race(voters, (n) => (n % 10 === 9 ? 'reject' : 'approve'));
    const { decision } = await storedOf(id);
    expect(answers.filter((a) => ['approved', 'rejected'].includes(a.body.status))).toHaveLength(1);
    ends.add(decision.decision);
    if (decision.decision === 'approved') expect(decision.votes?.length).toBeGreaterThanOrEqual(10);
    else expect(decision).not.toHaveProperty('votes');
  }
  for (const end of ends) expect(['approved', 'rejected']).toContain(end);
}, 600_000);
