import {
  type ApprovalRequirement,
  approvalSummary,
  approvalView,
  checkStream,
  problem,
  USUAL_REQUIREMENT,
} from '@holdpoint/contracts';
import { eventually, testIssuer } from '@holdpoint/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import {
  ALLOWED,
  call,
  openStaging,
  type Person,
  type Proposing,
  type StagingFixture,
  type Verdict,
} from './fixture.js';

const needs = (more: Partial<ApprovalRequirement>): ApprovalRequirement => ({ ...USUAL_REQUIREMENT, ...more });
const ACROSS = needs({ roles: [], groups: ['risk', 'ops'], votes: 2, fromGroups: 2 });
const TWO = needs({ votes: 2 });
const RISK = needs({ roles: [], groups: ['risk'] });
const PEOPLE = { vrita: ['risk'], vrob: ['risk'], vopal: ['ops'], vplain: [] } satisfies Partial<
  Record<Person, string[]>
>;

let fixture: StagingFixture;
let url: string;
beforeAll(async () => {
  fixture = await openStaging();
  url = (await fixture.start({ POLICY_TIMEOUT_MS: '1500' })).url;
});
beforeEach(() => {
  fixture.policy.answer = ALLOWED;
  fixture.members(PEOPLE);
});
afterAll(() => fixture.close());

const held = async (requirements: ApprovalRequirement[] | null, p?: Proposing, v?: Verdict) => {
  const { proposal, row } = await fixture.held(p, { ...v, data: requirements === null ? {} : { requirements } });
  return { id: proposal.subject, digest: proposal.data.call.digest, proposal, row };
};
type Held = Awaited<ReturnType<typeof held>>;
const decide = (who: Person, h: Held, decision: 'approve' | 'reject' = 'approve', more: object = {}) =>
  call(url, who, `/v1/approvals/${h.id}/decision`, { decision, digest: h.digest, ...more });
const counted = async (who: Person, h: Held) => {
  const { status, body } = await decide(who, h);
  expect({ status, body }).toMatchObject({ status: 200 });
  return approvalSummary.strict().parse(body);
};
const refusedWith = (answer: { status: number; body: unknown }, status: number, code: string): string => {
  expect(answer.status).toBe(status);
  expect(problem.parse(answer.body)).toMatchObject({ status, code });
  return problem.parse(answer.body).detail ?? '';
};
const decisionOn = (h: Held) => eventually(() => fixture.decisionOn(h.id), { what: `a decision on ${h.id}` });
const votesOn = (h: Held) =>
  fixture.superuser.selectFrom('votes').selectAll().where('call_id', '=', h.id).orderBy('at').execute();
const untouched = async (h: Held) => {
  expect(await votesOn(h)).toEqual([]);
  expect(await fixture.rowOf(h.id)).toMatchObject({ status: 'pending' });
};
const eventsOf = async (h: Held) => {
  await decisionOn(h);
  const { rows } = await sql<{ subject: string }>`
    SELECT subject FROM staging.outbox WHERE subject LIKE ${`%.${h.id}`} ORDER BY id`.execute(fixture.superuser);
  return rows.map((r) => r.subject.split('.').slice(0, 2).join('.'));
};

describe('two of three, across two groups', () => {
  test('each vote is kept and told as it was cast, and the one that meets the requirement releases the call', async () => {
    const h = await held([ACROSS]);
    const first = await decide('vrita', h, 'approve', { reason: 'The amount is right.' });
    expect(approvalSummary.parse(first.body)).toMatchObject({
      status: 'pending',
      requirements: [ACROSS],
      votes: [{ by: 'vrita', role: 'member', groups: ['risk'], counts: true }],
      missing: [{ votes: 1, groups: 1 }],
      decidedBy: null,
    });
    expect(fixture.policy.votes).toEqual([{ by: 'vrita', role: 'member', groups: ['risk'] }]);
    // enough people, yet of one group
    expect(await counted('vrob', h)).toMatchObject({ status: 'pending', missing: [{ votes: 0, groups: 1 }] });
    expect(await fixture.decisionOn(h.id)).toBeNull();
    const view = approvalView.strict().parse((await call(url, 'mia', `/v1/approvals/${h.id}`)).body);
    expect(view.votes).toMatchObject([
      { by: 'vrita', reason: 'The amount is right.' },
      { by: 'vrob', reason: null },
    ]);
    expect(await counted('vopal', h)).toMatchObject({
      status: 'approved',
      decidedBy: { kind: 'person', id: 'vopal' },
      missing: [{ votes: 0, groups: 0 }],
      execution: 'waiting',
    });
    const { event } = await decisionOn(h);
    expect(event.data).toMatchObject({
      decision: 'approved',
      by: { kind: 'person', id: 'vopal' },
      cause: 'person',
      votes: [
        { by: 'vrita', role: 'member', groups: ['risk'] },
        { by: 'vrob', role: 'member', groups: ['risk'] },
        { by: 'vopal', role: 'member', groups: ['ops'] },
      ],
      frozen: h.proposal.data.frozen,
    });
    expect(await eventsOf(h)).toEqual(['call.staged', ...Array(3).fill('approval.voted'), 'approval.decided']);
    const voted = await fixture.reader.last('approval.voted', 'acme', h.id);
    expect(voted?.event).toMatchObject({
      runid: 'run1',
      data: {
        call: h.proposal.data.call,
        vote: 'approve',
        by: { kind: 'person', id: 'vopal' },
        digestSeen: h.digest,
        role: 'member',
        groups: ['ops'],
      },
    });
  });

  test('who is asked for nothing neither approves nor rejects, and learns who may', async () => {
    const h = await held([ACROSS]);
    for (const who of ['olga', 'mia', 'vplain'] as const)
      for (const decision of ['approve', 'reject'] as const)
        expect(refusedWith(await decide(who, h, decision), 403, 'auth.role-missing')).toContain(
          '2 votes from group risk or group ops, of 2 different groups',
        );
    await untouched(h);
  });

  test('to vote twice is to vote once', async () => {
    const h = await held([ACROSS]);
    const first = await counted('vrita', h);
    expect(await counted('vrita', h)).toEqual(first);
    await Promise.all(Array.from({ length: 5 }, () => counted('vrita', h)));
    expect(await votesOn(h)).toHaveLength(1);
    await counted('vopal', h);
    expect((await eventsOf(h)).filter((e) => e === 'approval.voted')).toHaveLength(2);
  });

  test('one rejection by somebody who may vote closes the call, whatever was voted', async () => {
    const h = await held([ACROSS]);
    await counted('vrita', h);
    expect((await decide('vrob', h, 'reject', { reason: 'no' })).body).toMatchObject({ status: 'rejected' });
    refusedWith(await decide('vopal', h), 409, 'staging.call-closed');
    const { event } = await decisionOn(h);
    expect(event.data).toMatchObject({ decision: 'rejected', by: { id: 'vrob' } });
    expect(event.data).not.toHaveProperty('votes');
  });

  test('an operator’s and a space’s requirement are both met, and one vote may count towards both', async () => {
    const h = await held([TWO, RISK]);
    expect(await counted('olga', h)).toMatchObject({ missing: [{ votes: 1 }, { votes: 1 }] });
    expect(await counted('adam', h)).toMatchObject({ status: 'pending', missing: [{ votes: 0 }, { votes: 1 }] });
    expect(await counted('vrita', h)).toMatchObject({ status: 'approved' });
  });

  test('where the verdict asks for the usual alone, one word is the decision and no vote', async () => {
    const h = await held([needs({ roles: ['admin', 'owner'] })]);
    fixture.policy.answer = { ...ALLOWED, requirements: [USUAL_REQUIREMENT] };
    expect(await counted('adam', h)).toMatchObject({ status: 'approved', votes: [], missing: [{ votes: 0 }] });
    expect((await decisionOn(h)).event.data).not.toHaveProperty('votes');
    expect(await eventsOf(h)).toEqual(['call.staged', 'approval.decided']);
  });
});

describe('whoever the call acts for', () => {
  test('neither releases nor rejects it where they are excluded, and learns who may', async () => {
    const h = await held([needs({ requesterExcluded: true })], { principal: 'olga' });
    for (const decision of ['approve', 'reject'] as const) {
      const told = refusedWith(await decide('olga', h, decision), 403, 'staging.requester-excluded');
      expect(told).toContain('1 vote from an owner or an admin, and not from whoever it acts for');
      expect(told).toContain('withdraw');
    }
    await untouched(h);
    expect(await counted('adam', h)).toMatchObject({ status: 'approved', decidedBy: { id: 'adam' } });
  });

  test('is excluded by what policy asks for since, too', async () => {
    const h = await held(null, { principal: 'olga' });
    fixture.policy.answer = { ...ALLOWED, requirements: [needs({ requesterExcluded: true })] };
    expect(await counted('olga', h)).toMatchObject({ status: 'pending', missing: [{ votes: 0 }, { votes: 1 }] });
    expect(await counted('adam', h)).toMatchObject({ status: 'approved' });
  });
});

describe('a vote binds to what was seen, and to the time', () => {
  test('the digest of an older call is no vote on this one', async () => {
    const [old, h] = [await held([TWO]), await held([TWO])];
    refusedWith(await decide('olga', { ...h, digest: old.digest }), 409, 'staging.digest-mismatch');
    await untouched(h);
  });

  test('after the deadline nobody votes, and earlier votes release nothing', async () => {
    const h = await held([TWO], {}, { expiresAfterSeconds: 1 });
    await decide('olga', h);
    await fixture.overdue(h.id);
    refusedWith(await decide('adam', h), 409, 'staging.call-expired');
    expect((await decisionOn(h)).event.data).toMatchObject({ decision: 'expired', by: null });
    expect((await votesOn(h)).map((v) => v.voter)).not.toContain('adam');
  });

  test('a vote that waits behind a lock until after the deadline is none', async () => {
    const h = await held([TWO], {}, { expiresAfterSeconds: 2 });
    const db = fixture.pool<unknown>('superuser');
    const holder = await db.startTransaction().execute();
    await sql`SELECT FROM staging.frozen_calls WHERE call_id = ${h.id} FOR UPDATE`.execute(holder);
    const vote = decide('olga', h);
    await eventually(
      async () =>
        (
          await sql`SELECT FROM pg_stat_activity WHERE application_name = 'staging' AND wait_event_type = 'Lock'
            AND datname = current_database()`.execute(db)
        ).rows.length > 0,
      { what: 'a vote that waits for the lock' },
    );
    await fixture.overdue(h.id);
    await holder.rollback().execute();
    refusedWith(await vote, 409, 'staging.call-expired');
    expect(await votesOn(h)).toEqual([]);
  });
});

describe('policy, asked again at each vote', () => {
  test('stricter by now: the call waits, says what is missing, and whom policy asks for may vote', async () => {
    const h = await held(null);
    refusedWith(await decide('vrita', h), 403, 'auth.role-missing');
    fixture.policy.answer = { ...ALLOWED, requirements: [RISK] };
    expect(await counted('olga', h)).toMatchObject({
      status: 'pending',
      requirements: [USUAL_REQUIREMENT, RISK],
      missing: [{ votes: 0 }, { votes: 1 }],
    });
    // told to whoever looks, too
    expect((await call(url, 'mia', `/v1/approvals?number=${h.row.number}`)).body.items).toMatchObject([
      { requirements: [USUAL_REQUIREMENT, RISK], missing: [{ votes: 0 }, { votes: 1 }] },
    ]);
    const voted = await eventually(() => fixture.reader.last('approval.voted', 'acme', h.id));
    expect(voted.event.data).toMatchObject({ by: { id: 'olga' }, role: 'owner', requirements: [RISK] });
    expect(await counted('vrita', h)).toMatchObject({ status: 'approved' });
    expect((await decisionOn(h)).event.data.votes?.map((v) => v.by)).toEqual(['olga', 'vrita']);
  });

  test('looser by now: what was frozen holds', async () => {
    const h = await held([TWO]);
    fixture.policy.answer = { ...ALLOWED, verdict: 'auto' };
    expect(await counted('olga', h)).toMatchObject({ status: 'pending', missing: [{ votes: 1, groups: 0 }] });
    fixture.policy.answer = { ...ALLOWED, requirements: [USUAL_REQUIREMENT] };
    expect(await counted('adam', h)).toMatchObject({ status: 'approved' });
  });

  test('stricter, then no longer: whoever voted approves once more, and the call is released', async () => {
    const h = await held(null);
    fixture.policy.answer = { ...ALLOWED, requirements: [TWO] };
    expect(await counted('olga', h)).toMatchObject({ status: 'pending' });
    fixture.policy.answer = ALLOWED;
    expect(await counted('olga', h)).toMatchObject({ status: 'approved' });
    expect(await votesOn(h)).toHaveLength(1);
  });

  test('halted while pending, or policy silent: no vote is taken, and those that were stay', async () => {
    const h = await held([TWO]);
    await counted('olga', h);
    fixture.policy.answer = { ...ALLOWED, verdict: 'deny', halted: true, rule: 'halt: space' };
    refusedWith(await decide('adam', h), 409, 'staging.halted');
    fixture.policy.answer = 'error';
    refusedWith(await decide('adam', h), 503, 'staging.policy-unavailable');
    expect(await votesOn(h)).toHaveLength(1);
    fixture.policy.answer = ALLOWED;
    expect(await counted('adam', h)).toMatchObject({ status: 'approved' });
  });

  test('denied by now: withdrawn, whatever was voted', async () => {
    const h = await held([TWO]);
    await counted('olga', h);
    fixture.policy.answer = { ...ALLOWED, verdict: 'deny' };
    refusedWith(await decide('adam', h), 409, 'staging.call-withdrawn');
    const { event } = await decisionOn(h);
    expect(event.data).toMatchObject({ decision: 'withdrawn', cause: 'policy-denied', by: null });
    expect(event.data).not.toHaveProperty('votes');
  });
});

describe('between a vote and the release', () => {
  test.each<[string, string[] | null]>([
    ['has left the group', []],
    ['is no longer a member', null],
    ['is of another group', ['ops']],
  ])('whoever %s does not count any more', async (_, groups) => {
    const h = await held([needs({ roles: [], groups: ['risk'], votes: 2 })]);
    await counted('vrita', h);
    fixture.members({ ...PEOPLE, vrita: groups, vron: ['risk'] });
    const after = await counted('vrob', h);
    expect(after).toMatchObject({ status: 'pending', missing: [{ votes: 1, groups: 0 }] });
    expect(after.votes).toMatchObject([
      { by: 'vrita', groups: ['risk'], counts: false },
      { by: 'vrob', counts: true },
    ]);
    expect(fixture.policy.votes.map((v) => v.by)).toEqual(['vrob']);
    expect(await counted('vron', h)).toMatchObject({ status: 'approved' });
    expect((await decisionOn(h)).event.data.votes?.map((v) => v.by)).toEqual(['vrob', 'vron']);
  });

  test('a vote does not count for what its voter became after it', async () => {
    const h = await held([ACROSS]);
    await counted('vrita', h);
    await counted('vrob', h);
    fixture.members({ ...PEOPLE, vrob: ['risk', 'ops'] });
    expect(await counted('vrita', h)).toMatchObject({ status: 'pending', missing: [{ votes: 0, groups: 1 }] });
    expect(await counted('vopal', h)).toMatchObject({ status: 'approved' });
  });
});

test('where an issuer is set, what voters are is asked of policy, at each vote', async () => {
  const issuer = await testIssuer();
  const { members } = fixture.policy;
  const of = (...groups: string[]) => ({ spaces: { acme: 'member' as const }, groups: { acme: groups } });
  for (const [who, group] of [
    ['vrita', 'risk'],
    ['vrob', 'risk'],
    ['vopal', 'ops'],
  ] as const)
    members.set(who, of(group));
  const { url: at, close } = await fixture.start({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: issuer.audience });
  try {
    const h = await held([ACROSS]);
    const vote = async (who: string) => {
      const response = await fetch(`${at}/v1/approvals/${h.id}/decision`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${await issuer.token(who)}` },
        body: JSON.stringify({ decision: 'approve', digest: h.digest }),
      });
      return approvalSummary.parse(await response.json());
    };
    expect(await vote('vrita')).toMatchObject({ status: 'pending', votes: [{ by: 'vrita', groups: ['risk'] }] });
    members.set('vrita', of());
    expect(await vote('vopal')).toMatchObject({ status: 'pending', missing: [{ votes: 1, groups: 1 }] });
    expect(await vote('vrob')).toMatchObject({ status: 'approved' });
    expect((await decisionOn(h)).event.data.votes?.map((v) => v.by)).toEqual(['vopal', 'vrob']);
  } finally {
    await close();
    await issuer.stop();
  }
});

describe('the table holds the rules by itself', () => {
  const as = (role: string, statement: string) =>
    fixture.superuser.transaction().execute(async (tx) => {
      await sql
        .raw(role === 'replica' ? 'SET LOCAL session_replication_role = replica' : `SET LOCAL ROLE ${role}`)
        .execute(tx);
      await sql.raw(statement).execute(tx);
    });

  test('votes are never changed, and no call is approved with fewer than were asked for', async () => {
    const h = await held([TWO]);
    await counted('olga', h);
    for (const statement of [
      "UPDATE staging.votes SET role = 'member'",
      'DELETE FROM staging.votes',
      'TRUNCATE staging.votes',
    ]) {
      await expect(as('hp_staging', statement)).rejects.toThrow(/permission denied/);
      await expect(as('hp_owner', statement)).rejects.toThrow(/kept as they were cast/);
    }
    await expect(as('replica', 'DELETE FROM staging.votes')).rejects.toThrow(/kept as they were cast/);
    const approved = `UPDATE staging.frozen_calls SET status = 'approved', decided_at = staged_at, decided_by = 'olga',
      cause = 'person', decided_under = 'v', execution = 'waiting' WHERE call_id = '${h.id}'`;
    for (const role of ['hp_staging', 'hp_owner', 'replica'])
      await expect(as(role, approved)).rejects.toThrow(/too few votes/);
    await expect(
      as('hp_staging', `UPDATE staging.frozen_calls SET requirements = NULL WHERE call_id = '${h.id}'`),
    ).rejects.toThrow(/permission denied/);
    await expect(
      as('hp_owner', `UPDATE staging.frozen_calls SET requirements = NULL WHERE call_id = '${h.id}'`),
    ).rejects.toThrow(/is frozen/);
  });

  test.each([
    ['of another digest', `'${'0'.repeat(64)}', staged_at`],
    ['too late', 'digest, expires_at'],
    ['on a call that is not there', 'digest, staged_at'],
  ])('a vote %s cannot be', async (what, values) => {
    const h = await held([TWO]);
    const id = what.includes('not there') ? "'nothing'" : 'call_id';
    await expect(
      as(
        'hp_staging',
        `INSERT INTO staging.votes (call_id, voter, role, groups, digest, at)
         SELECT ${id}, 'eve', 'owner', '{}', ${values} FROM staging.frozen_calls WHERE call_id = '${h.id}'`,
      ),
    ).rejects.toThrow(/no vote on call/);
  });
});

test('the stream keeps to the grammar of calls', async () => {
  const messages = [];
  for (let seq = 1; ; seq++) {
    const stored = await fixture.reader.bySeq(seq);
    if (stored === null) break;
    messages.push(stored);
  }
  expect(messages.filter((m) => m.event.type === 'approval.voted').length).toBeGreaterThan(20);
  expect(checkStream(messages).violations.filter((v) => !v.code.startsWith('run.'))).toEqual([]);
});
