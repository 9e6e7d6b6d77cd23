import { approvalSummary, approvalView, problem } from '@holdpoint/contracts';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import {
  ALLOWED,
  call,
  openStaging,
  type Person,
  type Proposing,
  type StagingFixture,
  TOKENS,
  type Verdict,
} from './fixture.js';

let fixture: StagingFixture;
let url: string;
beforeAll(async () => {
  fixture = await openStaging();
  url = (await fixture.start({ POLICY_TIMEOUT_MS: '1500' })).url;
});
beforeEach(() => {
  fixture.policy.answer = ALLOWED;
});
afterAll(() => fixture.close());

const held = async (p?: Proposing, v?: Verdict) => {
  const { proposal, row } = await fixture.held(p, v);
  return { id: proposal.subject, digest: proposal.data.call.digest, proposal, row };
};
type Held = Awaited<ReturnType<typeof held>>;
const decide = (who: Person | null, h: Held, decision: 'approve' | 'reject', more: object = {}) =>
  call(url, who, `/v1/approvals/${h.id}/decision`, { decision, digest: h.digest, ...more });
const withdraw = (who: Person | null, h: Held, body: object = {}) =>
  call(url, who, `/v1/approvals/${h.id}/withdraw`, body);
const decisionOf = (h: Held) => ({ decision: 'approve', digest: h.digest });
const decided = (h: Held, spaceId?: string) =>
  eventually(() => fixture.decisionOn(h.id, spaceId), { what: `a decision on ${h.id}` });
const untouched = async (h: Held) => {
  expect(await fixture.rowOf(h.id)).toMatchObject({ status: 'pending', decided_at: null });
  expect(await fixture.decisionOn(h.id)).toBeNull();
};
const refusedWith = (answer: { status: number; body: unknown }, status: number, code: string) => {
  expect(answer.status).toBe(status);
  expect(problem.parse(answer.body)).toMatchObject({ status, code });
  expect(problem.parse(answer.body).detail?.length).toBeGreaterThan(30);
};

describe('pending → approval.decided: approved', () => {
  test('vercel/ai#17083: the event carries the box that the proposal carried, the fresh policy version, and who, when and why', async () => {
    const h = await held();
    const answer = await decide('adam', h, 'approve', { reason: 'As agreed on the phone.' });
    expect(answer.status).toBe(200);
    const summary = approvalSummary.strict().parse(answer.body);
    expect(summary).toMatchObject({
      id: h.id,
      status: 'approved',
      decidedBy: { kind: 'person', id: 'adam' },
      execution: 'waiting',
      outcome: null,
    });
    const { event } = await decided(h);
    expect(event).toMatchObject({ runid: 'run1', time: summary.decidedAt });
    expect(event.data).toEqual({
      call: h.proposal.data.call,
      number: h.row.number,
      decision: 'approved',
      by: { kind: 'person', id: 'adam' },
      decidedAt: summary.decidedAt,
      reason: expect.objectContaining({ kid: h.proposal.data.frozen.kid }),
      cause: 'person',
      policyVersion: ALLOWED.policyVersion,
      frozen: h.proposal.data.frozen,
    });
    const reason = await fixture.keyring.open(event.data.reason as never, {
      spaceId: 'acme',
      entityId: h.id,
      field: 'reason',
    });
    expect(Buffer.from(reason).toString()).toBe('As agreed on the phone.');
    expect((await call(url, 'mia', `/v1/approvals/${h.id}`)).body.reason).toBe('As agreed on the phone.');
  });

  test('a policy that would let it run by now does not stand in the way', async () => {
    fixture.policy.answer = { ...ALLOWED, verdict: 'auto' };
    expect((await decide('olga', await held(), 'approve')).status).toBe(200);
  });
});

describe('pending → approval.decided: rejected, withdrawn', () => {
  test('rejected by a person, with the reason; policy is not asked', async () => {
    const h = await held();
    fixture.policy.answer = 'error';
    const asked = fixture.policy.asked;
    expect((await decide('olga', h, 'reject', { reason: 'Wrong address' })).body).toMatchObject({
      status: 'rejected',
      execution: null,
    });
    expect(fixture.policy.asked).toBe(asked);
    const { event } = await decided(h);
    expect(event.data).toMatchObject({
      decision: 'rejected',
      cause: 'person',
      by: { id: 'olga' },
      policyVersion: 'version-at-verdict',
    });
    expect(event.data).not.toHaveProperty('frozen');
    expect(event.data.reason).not.toBeNull();
  });

  test('cordum#204: withdrawn when policy denies it by now, and nobody is said to have decided', async () => {
    const h = await held();
    fixture.policy.answer = { ...ALLOWED, verdict: 'deny', rule: 'operator: Mail', policyVersion: 'stricter' };
    const answer = await decide('olga', h, 'approve', { reason: 'yes' });
    refusedWith(answer, 409, 'staging.call-withdrawn');
    expect(answer.body).toMatchObject({ status: 409, callStatus: 'withdrawn', rule: 'operator: Mail' });
    const { event } = await decided(h);
    expect(event.data).toMatchObject({
      decision: 'withdrawn',
      cause: 'policy-denied',
      by: null,
      reason: null,
      policyVersion: 'stricter',
    });
    refusedWith(await decide('adam', h, 'approve'), 409, 'staging.call-closed');
  });

  test.each(['mia', 'adam'] as const)('withdrawn by %s, on whose behalf it is or who may decide', async (who) => {
    const h = await held();
    fixture.policy.answer = 'error';
    const { status, body } = await withdraw(who, h, { reason: 'not needed' });
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'withdrawn', execution: null } });
    const { event } = await decided(h);
    expect(event.data).toMatchObject({ decision: 'withdrawn', cause: 'person', by: { kind: 'person', id: who } });
    expect(event.data).not.toHaveProperty('frozen');
    expect(event.data.reason).not.toBeNull();
    refusedWith(await decide('olga', h, 'approve'), 409, 'staging.call-closed');
  });

  test('nobody else takes it back, and nobody what is decided or overdue', async () => {
    const h = await held();
    refusedWith(await withdraw('otto', h), 404, 'auth.not-found');
    refusedWith(await withdraw('engine', h), 403, 'auth.people-only');
    await untouched(h);
    expect((await decide('olga', h, 'approve')).status).toBe(200);
    refusedWith(await withdraw('mia', h), 409, 'staging.call-closed');
    const late = await held({}, { expiresAfterSeconds: 1 });
    await fixture.overdue(late.id);
    refusedWith(await withdraw('mia', late), 409, 'staging.call-expired');
  });

  test('a member takes back what is on their own behalf alone', async () => {
    const h = await held({ principal: 'olga' });
    refusedWith(await withdraw('mia', h), 403, 'auth.role-missing');
    await untouched(h);
  });

  test('halted: it waits and nothing is decided', async () => {
    const h = await held();
    fixture.policy.answer = { ...ALLOWED, verdict: 'deny', halted: true, rule: 'halt: space' };
    refusedWith(await decide('olga', h, 'approve'), 409, 'staging.halted');
    await untouched(h);
    fixture.policy.answer = ALLOWED;
    expect((await decide('olga', h, 'approve')).status).toBe(200);
  });

  test.each(['error', 'garbage', 'silence'] as const)(
    'policy answers with %s: 503 and nothing is decided',
    async (how) => {
      const h = await held();
      fixture.policy.answer = how;
      refusedWith(await decide('olga', h, 'approve'), 503, 'staging.policy-unavailable');
      await untouched(h);
      expect((await decide('olga', h, 'reject')).status).toBe(200);
    },
  );
});

describe('who may decide', () => {
  test.each<[string, Person | null, number, string]>([
    ['a member', 'mia', 403, 'auth.role-missing'],
    ['an owner of another space', 'otto', 404, 'auth.not-found'],
    ['a service', 'engine', 403, 'auth.people-only'],
    ['nobody', null, 401, 'auth.token-missing'],
  ])('%s may not', async (_, who, status, code) => {
    const h = await held();
    for (const decision of ['approve', 'reject'] as const) refusedWith(await decide(who, h, decision), status, code);
    await untouched(h);
  });
});

describe('what was seen', () => {
  test('another digest is refused', async () => {
    const h = await held();
    refusedWith(await decide('olga', { ...h, digest: 'b'.repeat(64) }, 'approve'), 409, 'staging.digest-mismatch');
    refusedWith(await decide('olga', { ...h, digest: 'b'.repeat(64) }, 'reject'), 409, 'staging.digest-mismatch');
    await untouched(h);
  });

  test('mastra#19377: the digest of another call does not approve this one', async () => {
    const [one, two] = [await held(), await held()];
    refusedWith(await decide('olga', { ...one, digest: two.digest }, 'approve'), 409, 'staging.digest-mismatch');
    await untouched(one);
  });

  test('pydantic-ai#6968: a box that was changed in the table is neither shown nor released', async () => {
    const [h, other] = [await held(), await held()];
    await fixture.superuser.transaction().execute(async (tx) => {
      await sql`ALTER TABLE staging.frozen_calls DISABLE TRIGGER guard_row`.execute(tx);
      await tx.updateTable('frozen_calls').set({ frozen: other.row.frozen }).where('call_id', '=', h.id).execute();
      await sql`ALTER TABLE staging.frozen_calls ENABLE ALWAYS TRIGGER guard_row`.execute(tx);
    });
    refusedWith(await decide('olga', h, 'approve'), 409, 'staging.content-damaged');
    refusedWith(await call(url, 'olga', `/v1/approvals/${h.id}`), 409, 'staging.content-damaged');
    await untouched(h);
  });
});

describe('mastra#19633: a stale call id decides no newer call', () => {
  test.each<['approve' | 'reject', 'approve' | 'reject' | 'withdraw']>([
    ['approve', 'reject'],
    ['approve', 'approve'],
    ['approve', 'withdraw'],
    ['reject', 'approve'],
  ])('%s on a call that ended with %s, also with the digest of the newer one', async (decision, ended) => {
    const args = '{"to":"bo@example.org","n":1}';
    const old = await held({ args });
    expect((await (ended === 'withdraw' ? withdraw('olga', old) : decide('olga', old, ended))).status).toBe(200);
    const before = await fixture.rowOf(old.id);
    const newer = await held({ args });
    refusedWith(await decide('adam', old, decision), 409, 'staging.call-closed');
    expect((await decide('adam', { ...old, digest: newer.digest }, decision)).status).toBe(409);
    refusedWith(await decide('adam', { ...newer, digest: old.digest }, decision), 409, 'staging.digest-mismatch');
    await untouched(newer);
    expect(await fixture.rowOf(old.id)).toEqual(before);
  });
});

describe('archestra#6435: a decision is the one that was sent', () => {
  test.each([
    ['approve', 'approved'],
    ['reject', 'rejected'],
  ] as const)('%s → %s, in the answer, in the table and in the stream', async (decision, status) => {
    const h = await held();
    expect((await decide('olga', h, decision)).body).toMatchObject({ status });
    expect(await fixture.rowOf(h.id)).toMatchObject({ status });
    expect((await decided(h)).event.data.decision).toBe(status);
  });
});

describe('activepieces#14024: only the one request that decides does so', () => {
  const OLGA = { authorization: `Bearer ${TOKENS.olga}` };
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
  test.each<[string, RequestInit, 'in the address' | 'in the body' | 'nowhere']>([
    ['GET', { headers: OLGA }, 'in the address'],
    ['HEAD', { method: 'HEAD', headers: OLGA }, 'in the address'],
    ['OPTIONS', { method: 'OPTIONS', headers: OLGA }, 'in the address'],
    ['PUT', { method: 'PUT', headers: OLGA }, 'in the body'],
    ['PATCH', { method: 'PATCH', headers: OLGA }, 'in the body'],
    ['DELETE', { method: 'DELETE', headers: OLGA }, 'in the address'],
    ['GET that says it is a POST', { headers: { ...OLGA, 'x-http-method-override': 'POST' } }, 'in the address'],
    ['POST without a body', { method: 'POST', headers: OLGA }, 'in the address'],
    ['POST of nothing', { method: 'POST', headers: OLGA }, 'nowhere'],
    ['POST of a form', { method: 'POST', headers: { ...OLGA, ...FORM } }, 'in the body'],
    ['GET without a token', {}, 'in the address'],
    ['POST without a token', { method: 'POST' }, 'in the body'],
    ['POST with a cookie for a token', { method: 'POST', headers: { cookie: `token=${TOKENS.olga}` } }, 'in the body'],
  ])('%s decides nothing', async (_, init, where) => {
    const h = await held();
    const said = { decision: 'approve', digest: h.digest };
    const query = new URLSearchParams({ ...said, _method: 'POST', access_token: TOKENS.olga });
    const form = new Headers(init.headers).has('content-type');
    const headers = new Headers(init.headers);
    if (where === 'in the body' && !form) headers.set('content-type', 'application/json');
    for (const path of ['decision', 'withdraw', 'approve', '']) {
      const response = await fetch(
        `${url}/v1/approvals/${h.id}${path && `/${path}`}${where === 'in the address' ? `?${query}` : ''}`,
        {
          ...init,
          headers,
          ...(where === 'in the body' ? { body: form ? query.toString() : JSON.stringify(said) } : {}),
        },
      );
      await response.arrayBuffer();
      // looking at a call is all that anything but a POST may do
      if (path !== '') expect(response.status).toBeGreaterThanOrEqual(400);
    }
    await untouched(h);
  });
});

describe('a decision is final', () => {
  test('the loser learns who decided and when', async () => {
    const h = await held();
    const first = await decide('adam', h, 'reject');
    for (const decision of ['approve', 'reject'] as const) {
      const answer = await decide('olga', h, decision);
      refusedWith(answer, 409, 'staging.call-closed');
      expect(answer.body).toMatchObject({
        status: 409,
        callStatus: 'rejected',
        decidedBy: { kind: 'person', id: 'adam' },
        decidedAt: first.body.decidedAt,
      });
      expect(answer.body.detail).toContain(`rejected by adam at ${first.body.decidedAt}`);
    }
  });
});

describe('the deadline', () => {
  const overdueCall = async () => {
    const h = await held({}, { expiresAfterSeconds: 1 });
    await fixture.overdue(h.id);
    return h;
  };

  test.each(['approve', 'reject'] as const)(
    'meho#3441: %s after it marks the call expired, swept or not, which is no person’s doing',
    async (decision) => {
      const h = await overdueCall();
      fixture.policy.answer = 'error';
      const answer = await decide('olga', h, decision);
      refusedWith(answer, 409, 'staging.call-expired');
      expect(await fixture.rowOf(h.id)).toMatchObject({ status: 'expired', cause: 'deadline', decided_by: null });
      const { event } = await decided(h);
      expect(event.data).toMatchObject({ decision: 'expired', cause: 'deadline', by: null, reason: null });
      refusedWith(await decide('adam', h, 'approve'), 409, 'staging.call-expired');
    },
  );

  test.each<[string, string | null]>([
    ['changed nothing', null],
    ['was rolled back', 'UPDATE staging.frozen_calls SET execution = NULL WHERE call_id = '],
  ])(
    'an approval that waits behind a lock until after it does not approve, when the holder %s',
    async (_, statement) => {
      const h = await held({}, { expiresAfterSeconds: 2 });
      const db = fixture.pool<unknown>('superuser');
      const holder = await db.startTransaction().execute();
      await sql`SELECT FROM staging.frozen_calls WHERE call_id = ${h.id} FOR UPDATE`.execute(holder);
      if (statement !== null) await sql`${sql.raw(statement)}${h.id}`.execute(holder);
      const approval = decide('olga', h, 'approve');
      await eventually(
        async () =>
          (
            await sql`SELECT FROM pg_stat_activity WHERE application_name = 'staging' AND wait_event_type = 'Lock'`.execute(
              db,
            )
          ).rows.length > 0,
        { what: 'an approval that waits for the lock' },
      );
      expect(
        (
          await sql<{ late: boolean }>`
      SELECT expires_at <= clock_timestamp() AS late FROM staging.frozen_calls WHERE call_id = ${h.id}`.execute(db)
        ).rows,
      ).toEqual([{ late: false }]);
      await fixture.overdue(h.id);
      await holder.rollback().execute();
      refusedWith(await approval, 409, 'staging.call-expired');
      expect(await fixture.rowOf(h.id)).toMatchObject({ status: 'expired' });
    },
  );
});

describe('a restart', () => {
  test('NeoAgent#86: loses no call that is held, and one that is decided stays so', async () => {
    const before = await fixture.start();
    const [waits, ended] = [await held(), await held()];
    expect((await call(before.url, 'olga', `/v1/approvals/${ended.id}/decision`, decisionOf(ended))).status).toBe(200);
    await before.close();
    const after = await fixture.start();
    const at = (path: string, body?: unknown) => call(after.url, 'olga', `/v1/approvals/${path}`, body);
    expect((await at(waits.id)).body).toMatchObject({ status: 'pending', digest: waits.digest });
    refusedWith(await at(`${ended.id}/decision`, decisionOf(ended)), 409, 'staging.call-closed');
    expect((await at(`${waits.id}/decision`, decisionOf(waits))).body).toMatchObject({ status: 'approved' });
    await after.close();
  });
});

describe('erased content', () => {
  test('is neither shown nor released; it can be rejected without a reason', async () => {
    const h = await held({ conversationId: 'to-be-erased' });
    await fixture.destroyKey('to-be-erased');
    // an instance that has not used the key yet: others may use it for up to a minute more
    const fresh = await fixture.start();
    const at = (path: string, body?: unknown) => call(fresh.url, 'olga', `/v1/approvals/${h.id}${path}`, body);
    refusedWith(await at(''), 410, 'staging.content-destroyed');
    refusedWith(await at('/decision', { decision: 'approve', digest: h.digest }), 410, 'staging.content-destroyed');
    refusedWith(
      await at('/decision', { decision: 'reject', digest: h.digest, reason: 'no' }),
      410,
      'staging.content-destroyed',
    );
    await untouched(h);
    expect((await at('/decision', { decision: 'reject', digest: h.digest })).status).toBe(200);
    await fresh.close();
  });
});

describe('reading', () => {
  test('pi#8943: shows the exact arguments, integers beyond 2^53 and spacing included', async () => {
    const args = '{ "to":"bo@example.org",  "n": 9007199254740993, "t":"\\u202e" }';
    const h = await held({ args });
    const { status, body } = await call(url, 'mia', `/v1/approvals/${h.id}`);
    expect(status).toBe(200);
    expect(approvalView.strict().parse(body)).toMatchObject({
      id: h.id,
      arguments: args,
      digest: h.digest,
      status: 'pending',
      reason: null,
      flags: ['injection-marker'],
      rule: 'builtin: Mail.send',
    });
  });

  test('a call of another space does not exist, nor does an unknown one', async () => {
    const h = await held();
    refusedWith(await call(url, 'otto', `/v1/approvals/${h.id}`), 404, 'auth.not-found');
    refusedWith(await call(url, 'olga', '/v1/approvals/nothing'), 404, 'auth.not-found');
    refusedWith(await call(url, 'engine', `/v1/approvals/${h.id}`), 403, 'auth.people-only');
  });

  test('a list holds the calls of one’s own spaces, pending ones oldest first, page by page', async () => {
    const mine: Held[] = [];
    for (const agent of ['lister', 'lister', 'lister']) mine.push(await held({ spaceId: 'beta', agent }));
    const elsewhere = await held({ agent: 'lister' });
    const list = async (who: Person, query: string) => (await call(url, who, `/v1/approvals?${query}`)).body;
    const ids = (body: { items: { id: string }[] }) => body.items.map((i) => i.id);

    expect(ids(await list('olga', 'agent=lister'))).toEqual([...mine.map((h) => h.id), elsewhere.id]);
    expect(ids(await list('adam', 'agent=lister'))).toEqual([elsewhere.id]);
    expect(ids(await list('otto', ''))).toEqual([]);
    expect(ids(await list('engine', ''))).toEqual([]);

    const first = await list('olga', 'agent=lister&space=beta&limit=2');
    expect(ids(first)).toEqual([mine[0]?.id, mine[1]?.id]);
    const second = await list('olga', `agent=lister&space=beta&limit=2&cursor=${first.nextCursor}`);
    expect(ids(second)).toEqual([mine[2]?.id]);
    expect(second.nextCursor).toBeUndefined();

    const number = mine[1]?.row.number;
    await call(url, 'olga', `/v1/approvals/${mine[1]?.id}/decision`, { decision: 'reject', digest: mine[1]?.digest });
    expect(ids(await list('olga', `space=beta&number=${number}`))).toEqual([]);
    expect(ids(await list('olga', `space=beta&number=${number}&status=all`))).toEqual([mine[1]?.id]);
    expect(ids(await list('olga', 'space=beta&status=rejected&tool=Mail'))).toEqual([mine[1]?.id]);
    expect(ids(await list('olga', 'space=beta&status=all&agent=lister'))).toEqual(mine.map((h) => h.id).reverse());
    expect(ids(await list('olga', 'tool=FileRW'))).toEqual([]);
    refusedWith(await call(url, 'otto', '/v1/approvals?space=beta'), 404, 'auth.not-found');
  });
});

describe('bad input', () => {
  test.each<[string, unknown, string]>([
    ['no digest', { decision: 'approve' }, 'digest'],
    ['a digest in upper case', { decision: 'approve', digest: 'A'.repeat(64) }, 'digest'],
    ['another decision', { decision: 'maybe', digest: 'a'.repeat(64) }, 'decision'],
    ['a field too many', { decision: 'approve', digest: 'a'.repeat(64), force: true }, 'force'],
    ['too long a reason', { decision: 'approve', digest: 'a'.repeat(64), reason: 'x'.repeat(2001) }, 'reason'],
  ])('%s is refused, naming the field', async (_, body, field) => {
    const answer = await call(url, 'olga', '/v1/approvals/c1/decision', body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors.map((e: { field: string }) => e.field)).toContain(field);
  });
  test('an id or a query that cannot be is refused, naming the field', async () => {
    expect((await call(url, 'olga', '/v1/approvals/NO')).body).toMatchObject({
      status: 400,
      errors: [{ field: 'id' }],
    });
    const wrong = ['limit=0', 'limit=201', 'limit=0x2', 'number=x', 'number=0x1', 'number=1e0', 'number=2147483648'];
    for (const query of [...wrong, 'status=open', 'space=A*', 'cursor=%20', 'cursor=zzz', 'cursor='])
      expect((await call(url, 'olga', `/v1/approvals?${query}`)).body).toMatchObject({
        status: 400,
        errors: [{ field: query.split('=')[0] }],
      });
  });
  test('text that is no JSON is 400, a body over 1 MiB is 413', async () => {
    expect((await call(url, 'olga', '/v1/approvals/c1/decision', '{')).status).toBe(400);
    expect((await call(url, 'olga', '/v1/approvals/c1/decision', { reason: 'x'.repeat(1_100_000) })).status).toBe(413);
  });
});
