import {
  type ApprovalTime,
  auditEntry,
  type HeldShare,
  type OutcomeCost,
  page,
  receipt,
  type ToolErrorRate,
} from '@holdpoint/contracts';
import { newId } from '@holdpoint/eventing';
import { unguardedRoutes } from '@holdpoint/runtime';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { ann, CallMaker, CONVERSATION, closedBox, runEvents, SPACE, World } from './fixture.js';

let world: World;
let app: INestApplication;
beforeAll(async () => {
  world = await World.open();
  app = await world.start();
});
afterAll(() => world.close());

const make = (options?: ConstructorParameters<typeof CallMaker>[1]) => new CallMaker(world, options);
const entriesOf = async (c: CallMaker) => {
  await world.logged();
  return world.entries(`call=${c.id}`);
};

describe('each status of seed 003', () => {
  it('Ok', async () => {
    const c = make();
    await world.publish(await c.proposed(), c.verdict(), c.started(), c.executed());
    const [entry, ...more] = await entriesOf(c);
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      kind: 'outcome',
      status: 'Ok',
      spaceId: SPACE,
      runId: c.runId,
      callId: c.id,
      conversationId: CONVERSATION,
      taskId: null,
      agent: 'writer',
      model: 'scripted',
      source: 'webview',
      principal: ann,
      server: 'holdpoint',
      tool: 'Mail',
      action: 'send',
      arguments: '{"action":"send","to":"bob@example.org"}',
    });
  });
  it('Error: with the arguments of a call that was refused before it was proposed', async () => {
    const c = make();
    const args = await c.sealed('arguments', '{"a":1,"a":2}');
    await world.publish(
      c.executed({ status: 'Error', reason: 'arguments.duplicate-key', arguments: args, result: null }),
    );
    expect(await entriesOf(c)).toMatchObject([
      { status: 'Error', note: 'arguments.duplicate-key', arguments: '{"a":1,"a":2}' },
    ]);
  });
  it('Denied: by policy', async () => {
    const c = make();
    await world.publish(await c.proposed(), c.verdict('deny'), c.executed({ status: 'Denied', reason: 'rule' }));
    expect(await entriesOf(c)).toMatchObject([{ status: 'Denied', note: 'rule' }]);
  });
  it('NotFound', async () => {
    const c = make({ ref: { tool: 'Nothing', action: null, schemaDigest: null, digest: null } });
    await world.publish(c.executed({ status: 'NotFound', result: null }));
    expect(await entriesOf(c)).toMatchObject([{ status: 'NotFound', tool: 'Nothing', action: null, arguments: null }]);
  });
  it('Staged, and three entries for a held call: staging, decision, outcome', async () => {
    const c = make();
    await world.publish(
      await c.proposed(),
      c.verdict('approve'),
      c.staged(7),
      c.decided(),
      c.started(true),
      c.executed({ held: true }),
    );
    expect(await entriesOf(c)).toMatchObject([
      { kind: 'staging', status: 'Staged', source: 'webview', note: 'held as acme#7; builtin: Mail.send' },
      { kind: 'decision', status: 'Ok', source: 'approval', note: 'approved by ann', principal: ann },
      { kind: 'outcome', status: 'Ok', source: 'webview', note: 'released by a person' },
    ]);
  });
  it.each([
    ['rejected', 'Denied'],
    ['approved', 'Ok'],
  ] as const)(
    'vercel/ai#17083: %s with its reason, sealed at rest and opened for a member',
    async (decision, status) => {
      const c = make();
      const reason = await c.sealed('reason', 'wrong recipient');
      await world.publish(await c.proposed(), c.verdict('approve'), c.staged(), c.decided({ decision, reason }));
      expect((await entriesOf(c))[1]).toMatchObject({ status, note: `${decision} by ann: wrong recipient` });
      const stored = await world.db.selectFrom('audit_log').select('note').where('call_id', '=', c.id).execute();
      expect(stored.map((r) => r.note).join()).not.toContain('recipient');
    },
  );
  it('agent-os#1564: an expiry is not a person', async () => {
    const c = make();
    await world.publish(c.staged(), c.decided({ decision: 'expired', by: null, cause: 'deadline' }));
    expect((await entriesOf(c))[1]).toMatchObject({
      status: 'Denied',
      note: 'expired; deadline',
      principal: { kind: 'service', id: 'staging' },
    });
  });
});

describe('cancelled and abandoned calls', () => {
  it('cancelled before it started → none', async () => {
    const c = make();
    await world.publish(
      await c.proposed(),
      c.verdict(),
      c.executed({ status: 'Denied', cancelled: true, result: null }),
    );
    expect(await entriesOf(c)).toEqual([]);
  });
  it('cancelled after it started → one', async () => {
    const c = make();
    await world.publish(await c.proposed(), c.verdict(), c.started(), c.executed({ cancelled: true }));
    expect(await entriesOf(c)).toMatchObject([{ status: 'Ok', note: 'the run was cancelled' }]);
  });
  it.each(['no-verdict', 'engine-lost'] as const)('given up for %s, no verdict before → Denied', async (reason) => {
    const c = make();
    await world.publish(await c.proposed(), c.abandoned(reason), c.verdict());
    expect(await entriesOf(c)).toMatchObject([{ kind: 'outcome', status: 'Denied', source: 'webview' }]);
  });
  it('given up because the run was cancelled → none', async () => {
    const c = make();
    await world.publish(await c.proposed(), c.abandoned('cancelled'));
    expect(await entriesOf(c)).toEqual([]);
  });
  it('given up after its verdict → the outcome alone', async () => {
    const c = make();
    await world.publish(await c.proposed(), c.verdict(), c.abandoned('engine-lost'));
    await world.publish(c.executed({ status: 'Denied', reason: 'engine-lost' }));
    expect(await entriesOf(c)).toMatchObject([{ status: 'Denied', note: 'engine-lost' }]);
  });
});

describe('provenance', () => {
  it('cannot come from a tool result', async () => {
    const c = make();
    const claim = JSON.stringify({ call: { agent: 'root', model: 'other', source: 'direct' }, status: 'Ok' });
    const result = await c.sealed('result', claim);
    await world.publish(await c.proposed(), c.verdict(), c.started(), c.executed({ status: 'Error', result }));
    expect(await entriesOf(c)).toMatchObject([
      { agent: 'writer', model: 'scripted', source: 'webview', status: 'Error' },
    ]);
  });
  it('what is unknown stays unknown', async () => {
    const unknown = { kind: 'unknown', id: 'unknown' } as const;
    const c = make({ ref: { model: 'unknown', source: 'unknown', principal: unknown } });
    await world.publish(c.executed({ status: 'NotFound' }));
    expect(await entriesOf(c)).toMatchObject([{ model: 'unknown', source: 'unknown', principal: unknown }]);
  });
  it('an event that its subject does not bear out makes no entry', async () => {
    const c = make();
    const forged = JSON.stringify({ ...c.executed(), source: '/holdpoint/staging' });
    await world.publishRaw('agent-engine', `tool.executed.${SPACE}.${c.id}`, forged);
    expect(await entriesOf(c)).toEqual([]);
  });
});

describe('arguments', () => {
  it('at most 4,000 characters', async () => {
    const c = make();
    await world.publish(
      await c.proposed(`{"body":"${'x'.repeat(5_000)}"}`),
      c.verdict('deny'),
      c.executed({ status: 'Denied' }),
    );
    const [entry] = await entriesOf(c);
    expect(entry?.arguments).toHaveLength(4_000);
    expect(entry?.arguments?.endsWith('x…')).toBe(true);
  });
  it('what looks like a secret is masked, at any depth', async () => {
    const c = make();
    await world.publish(
      await c.proposed('{"action":"send","auth":{"deep":[{"password":"hunter2"}]},"n":9007199254740993}'),
      c.verdict('deny'),
      c.executed({ status: 'Denied' }),
    );
    expect((await entriesOf(c))[0]?.arguments).toBe(
      '{"action":"send","auth":{"deep":[{"password":"[secret]"}]},"n":9007199254740993}',
    );
  });
  it('null when the key is destroyed or the box does not open; the entry stays', async () => {
    await world.keyring.create(SPACE, 'conversation-2');
    const c = make();
    const place = { conversationId: 'conversation-2', spaceId: SPACE, entityId: c.id, field: 'arguments' } as const;
    const erased = await world.keyring.seal(place, '{}');
    await world.db
      .withSchema('keyring')
      .updateTable('data_keys' as never)
      .set({ wrapped: null, destroyed_at: new Date() } as never)
      .where('conversation_id' as never, '=', 'conversation-2' as never)
      .execute();
    const moved = make();
    await world.publish(c.executed({ status: 'Error', arguments: erased }));
    await world.publish(moved.executed({ status: 'Error', arguments: await make().sealed('arguments', 'of another') }));
    expect(await entriesOf(c)).toMatchObject([{ status: 'Error', arguments: null }]);
    expect(await entriesOf(moved)).toMatchObject([{ status: 'Error', arguments: null }]);
  });
  it('are nowhere in the tables', async () => {
    const c = make();
    await world.publish(await c.proposed('{"secret":"plaintext-marker"}'), c.executed());
    await world.logged();
    const rows = await world.db.selectFrom('event_log').select('body').execute();
    expect(rows.some((r) => r.body.includes('plaintext-marker'))).toBe(false);
  });
});

describe('GET /v1/audit/entries', () => {
  it('filters by run, task, call, tool, action, agent, status, space and time, and pages without a gap', async () => {
    const runId = newId();
    const mine = Array.from({ length: 5 }, (_, i) =>
      make({ runId, ref: { agent: 'filterer', tool: i === 4 ? 'FileRW' : 'Mail', taskId: 'wake-filter' } }),
    );
    const from = new Date(Date.now() - 60_000).toISOString();
    for (const [i, c] of mine.entries()) await world.publish(c.executed({ status: i < 2 ? 'Ok' : 'Error' }));
    await world.logged();
    const count = async (query: string) => (await world.entries(`run=${runId}&${query}`)).length;
    expect(await count('')).toBe(5);
    expect(await count(`call=${mine[0]?.id}`)).toBe(1);
    expect(await count('task=wake-filter')).toBe(5);
    expect(await count('tool=FileRW')).toBe(1);
    expect(await count('tool=Mail&action=send&agent=filterer')).toBe(4);
    expect(await count('action=other')).toBe(0);
    expect(await count('status=Ok')).toBe(2);
    expect(await count(`space=${SPACE}&from=${from}`)).toBe(5);
    expect(await count(`to=${from}`)).toBe(0);

    for (const order of ['asc', 'desc']) {
      const seen: string[] = [];
      let cursor: string | undefined = '';
      while (cursor !== undefined) {
        const path = `/v1/audit/entries?run=${runId}&limit=2&order=${order}${cursor && `&cursor=${cursor}`}`;
        const answer: { items: { callId: string }[]; nextCursor?: string | undefined } = page(auditEntry).parse(
          (await world.get(path)).body,
        );
        seen.push(...answer.items.map((e) => e.callId));
        cursor = answer.nextCursor;
      }
      const ids = mine.map((c) => c.id);
      expect(seen).toEqual(order === 'asc' ? ids : ids.toReversed());
    }
  });
  it('is for members: a stranger sees nothing, and 404 for the space', async () => {
    expect((await world.get('/v1/audit/entries', 'eve')).body).toEqual({ items: [] });
    expect((await world.get(`/v1/audit/entries?space=${SPACE}`, 'eve')).status).toBe(404);
    expect((await world.get(`/v1/audit/entries?space=${SPACE}`, 'nobody')).status).toBe(401);
  });
  it.each(['status=Lost', 'limit=1000', 'cursor=-1', 'from=yesterday', 'colour=red'])('400 for %s', async (query) => {
    const answer = await world.get(`/v1/audit/entries?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: query.split('=')[0] }] } });
  });
});

describe('GET /v1/audit/tools/error-rates', () => {
  const rates = async (query: string, who?: string) =>
    (await world.get(`/v1/audit/tools/error-rates?${query}`, who)).body['items'] as ToolErrorRate[];

  it('counts outcomes by tool and action: errors among the calls that ran, refusals beside them', async () => {
    const runs = (tool: string, action: string | null, statuses: ('Ok' | 'Error' | 'Denied' | 'NotFound')[]) =>
      statuses.map((status) => make({ ref: { tool, action } }).executed({ status }));
    await world.publish(
      ...runs('Rates', 'one', ['Ok', 'Ok', 'Ok', 'Error', 'Denied']),
      ...runs('Rates', 'two', ['Denied', 'NotFound']),
      ...runs('Rates', null, ['Error']),
    );
    await world.logged();
    const mine = (await rates(`space=${SPACE}`)).filter((r) => r.tool === 'Rates');
    expect(mine).toEqual([
      { bucket: null, tool: 'Rates', action: 'one', calls: 5, errors: 1, denied: 1, notFound: 0, rate: 0.25 },
      { bucket: null, tool: 'Rates', action: 'two', calls: 2, errors: 0, denied: 1, notFound: 1, rate: null },
      { bucket: null, tool: 'Rates', action: null, calls: 1, errors: 1, denied: 0, notFound: 0, rate: 1 },
    ]);
  });

  it('by hour or day, within a time', async () => {
    const all = (await rates('bucket=hour')).filter((r) => r.tool === 'Rates');
    expect(all.every((r) => r.bucket?.endsWith(':00:00.000Z'))).toBe(true);
    expect(all.reduce((sum, r) => sum + r.calls, 0)).toBe(8);
    const before = new Date(Date.now() - 3_600_000).toISOString();
    expect((await rates(`bucket=day&to=${before}`)).filter((r) => r.tool === 'Rates')).toEqual([]);
  });

  it('is for members, and of a size that can be read', async () => {
    expect(await rates('', 'eve')).toEqual([]);
    expect((await world.get(`/v1/audit/tools/error-rates?space=${SPACE}`, 'eve')).status).toBe(404);
    const wide = 'bucket=hour&from=2020-01-01T00:00:00Z';
    expect(await world.get(`/v1/audit/tools/error-rates?${wide}`)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'from' }] },
    });
    expect((await world.get('/v1/audit/tools/error-rates?bucket=minute')).status).toBe(400);
  });
});

describe('GET /v1/audit/tools/held, approvals/times and costs', () => {
  const items = async <T>(path: string) =>
    (await world.get(`/v1/audit/${path}?space=${SPACE}`)).body['items'] as (T & { tool?: string; agent?: string })[];
  /** The stream's clock is set back, as a call is held for longer than a test takes. */
  const waited = async (c: CallMaker, seconds: number) => {
    await world.logged();
    await world.force(`UPDATE audit_log SET at = (SELECT at FROM audit_log WHERE kind = 'decision' AND call_id = '${c.id}')
      - interval '${seconds} s' WHERE kind = 'staging' AND call_id = '${c.id}'`);
  };

  it('a call that was held counts once, whatever became of it; one that was not counts when it ended', async () => {
    const held = [1, 2, 3].map(() => make({ ref: { tool: 'Held' } }));
    for (const c of held) await world.publish(c.staged());
    await world.publish(held[0]?.decided() as never, held[0]?.executed({ held: true }) as never);
    await world.publish(make({ ref: { tool: 'Held' } }).executed());
    await world.logged();
    expect((await items<HeldShare>('tools/held')).filter((i) => i.tool === 'Held')).toEqual([
      { bucket: null, tool: 'Held', action: 'send', calls: 4, held: 3, share: 0.75 },
    ]);
  });

  it('the times are those of people; what expired is counted and timed for nobody', async () => {
    for (const seconds of [10, 20, 30, 40]) {
      const c = make({ ref: { tool: 'Times' } });
      await world.publish(c.staged(), c.decided(seconds === 40 ? { decision: 'rejected' } : {}));
      await waited(c, seconds);
    }
    const late = make({ ref: { tool: 'Times' } });
    const expiry = { decision: 'expired', by: { kind: 'service', id: 'staging' }, cause: 'deadline' } as const;
    await world.publish(late.staged(), late.decided(expiry));
    await waited(late, 100_000);
    const [times] = (await items<ApprovalTime>('approvals/times')).filter((i) => i.tool === 'Times');
    expect(times).toMatchObject({ decided: 5, approved: 3, byPerson: 4 });
    expect(times?.medianMs).toBeCloseTo(25_000, 3);
    expect(times?.p95Ms).toBeCloseTo(38_500, 3);
  });

  it('an outcome is a task with all its runs, or a run that had none; what is not known is not in the mean', async () => {
    const of = (amount: string, known: boolean, taskId?: string) =>
      runEvents(newId(), { agent: 'costly', cost: { amount, known }, ...(taskId ? { taskId } : {}) }).completed;
    await world.publish(of('0.10', true, 'wake-c1'), of('0.30', true, 'wake-c1'), of('0.20', true));
    await world.logged();
    const known = { bucket: null, agent: 'costly', outcomes: 2, runs: 3, unknownCosts: 0, perOutcome: '0.3' };
    const costs = async () => (await items<OutcomeCost>('costs')).filter((i) => i.agent === 'costly');
    expect(await costs()).toEqual([{ ...known, cost: { amount: '0.60', known: true } }]);
    await world.publish(of('9', false, 'wake-c1'));
    await world.logged();
    const now = { ...known, runs: 4, unknownCosts: 1, perOutcome: '0.2' };
    expect(await costs()).toEqual([{ ...now, cost: { amount: '0.60', known: false } }]);
  });

  it('a stranger learns nothing', async () => {
    for (const path of ['tools/held', 'approvals/times', 'costs']) {
      expect((await world.get(`/v1/audit/${path}`, 'eve')).body).toEqual({ items: [] });
      expect((await world.get(`/v1/audit/${path}?space=${SPACE}`, 'eve')).status).toBe(404);
    }
  });
});

describe('receipts', () => {
  it('one a run, with its task; the first counts', async () => {
    const runId = newId();
    const { queued, started, completed } = runEvents(runId, { taskId: 'wake-r', attempt: 2 });
    const seq = await world.publish(queued, started, completed);
    await world.publish(runEvents(runId, { status: 'failed' }).completed);
    await world.logged();
    const answer = await world.get(`/v1/runs/${runId}/receipt`);
    expect(receipt.parse(answer.body)).toMatchObject({
      runId,
      taskId: 'wake-r',
      attempt: 2,
      status: 'ok',
      steps: 2,
      usage: { promptTokens: 100, completionTokens: 20, cachedTokens: 10 },
      cost: { amount: '0.0015', known: true },
      resultSeq: seq,
      streamSeq: seq,
    });
  });
  it('cost per outcome: the sum over a task’s receipts', async () => {
    const amounts = ['0.1', '0.2', '0.7'];
    for (const amount of amounts)
      await world.publish(runEvents(newId(), { taskId: 'wake-sum', cost: { amount, known: true } }).completed);
    await world.logged();
    const { body } = await world.get('/v1/audit/receipts?task=wake-sum&limit=2');
    expect(body['items']).toHaveLength(2);
    expect(body['totals']).toEqual({
      receipts: 3,
      steps: 6,
      usage: { promptTokens: 300, completionTokens: 60, cachedTokens: 30 },
      cost: { amount: '1.0', known: true },
      unknownCosts: 0,
      durationMs: 15,
    });
    await world.publish(runEvents(newId(), { taskId: 'wake-sum', cost: { amount: '99', known: false } }).completed);
    await world.logged();
    const after = await world.get('/v1/audit/receipts?task=wake-sum');
    expect(after.body['totals']).toMatchObject({
      receipts: 4,
      cost: { amount: '1.0', known: false },
      unknownCosts: 1,
    });
  });
  it('404 for a run without one, and for a stranger', async () => {
    const runId = newId();
    await world.publish(runEvents(runId).completed);
    await world.logged();
    expect((await world.get(`/v1/runs/${runId}/receipt`)).status).toBe(200);
    expect((await world.get(`/v1/runs/${runId}/receipt`, 'eve')).status).toBe(404);
    expect((await world.get(`/v1/runs/${newId()}/receipt`)).status).toBe(404);
    expect((await world.get('/v1/audit/receipts', 'eve')).body).toEqual({ items: [] });
  });
});

it('metrics tell how far the log is behind', async () => {
  const text = await (await fetch(`${await app.getUrl()}/metrics`)).text();
  expect(text).toMatch(/^holdpoint_audit_lag \d+$/m);
});

it('no route without a guard', async () => {
  expect(await unguardedRoutes(app)).toEqual(['GET /healthz', 'GET /metrics', 'GET /readyz']);
});

it('a service’s token reads no audit', async () => {
  expect((await world.get('/v1/audit/entries', 'staging')).body).toEqual({ items: [] });
  const c = make();
  await world.publish(c.executed({ result: closedBox }));
  await world.logged();
  expect((await world.get(`/v1/calls/${c.id}/chain`, 'staging')).status).toBe(403);
});
