import type { HoldpointEvent } from '@holdpoint/contracts';
import { newId } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { created, evolve, type Task, type TaskEvent } from '../src/domain/task.js';
import { ann, approved, box, call, decided, executed, runOf, SPACE, World } from './fixture.js';

let world: World;
beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world.close());

const wakeOf = (callId: string) => `wake-${callId}`;
const inState = (taskId: string, state: string) =>
  eventually(async () => {
    const task = await world.task(taskId);
    return task?.state === state ? task : undefined;
  });
const ready = (taskId: string, attempt = 1, offers = 1): Promise<HoldpointEvent<'task.ready'>> =>
  eventually(async () => {
    const all = (await world.events('task.ready', taskId)).filter((e) => e.data.attempt === attempt);
    return all.length >= offers ? all.at(-1) : undefined;
  });

/** A call that was released and executed, and the offer of its wake-up. */
async function offer(): Promise<HoldpointEvent<'task.ready'>> {
  const callId = newId();
  await world.publish(approved(callId));
  await world.publish(executed(callId));
  return ready(wakeOf(callId));
}

describe('– → task.created → open', () => {
  it('n8n#34645, vercel/ai#17083: a released call was executed: its wake-up carries number, decider, status, and sealed the result and what the approver said', async () => {
    const callId = newId();
    await world.publish(approved(callId, 7, box('as agreed')));
    const traceparent = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
    await world.publish({ ...executed(callId), traceparent });
    const event = await eventually(async () => (await world.events('task.created', wakeOf(callId)))[0]);
    expect(event.callid).toBe(callId);
    // offered by the scanner, which has no event in hand
    expect((await ready(wakeOf(callId))).traceparent).toBe(traceparent);
    expect(event.data.work).toEqual({
      conversationId: call.conversationId,
      agent: 'writer',
      principal: ann,
      wakeUp: {
        callId,
        number: 7,
        tool: 'Mail',
        action: 'send',
        outcome: 'executed',
        status: 'Ok',
        settled: false,
        reasonCode: null,
        by: ann,
        result: box('result'),
        reason: box('as agreed'),
      },
    });
  });

  it('inngest#1433: the execution is heard of before the approval: the wake-up waits for the number', async () => {
    const callId = newId();
    await world.publish(executed(callId));
    await world.publish(approved(callId, 8));
    expect((await ready(wakeOf(callId))).data.work.wakeUp).toMatchObject({ number: 8, by: ann });
  });

  it('the approval is never heard of: woken all the same, without a number', async () => {
    const callId = newId();
    await world.publish(executed(callId));
    expect((await ready(wakeOf(callId))).data.work.wakeUp).toMatchObject({ number: null, by: null });
  });

  it.each([
    ['Error', 'executed'],
    ['Denied', 'denied'],
  ] as const)('tool.executed %s → %s', async (status, outcome) => {
    const callId = newId();
    await world.publish(approved(callId));
    await world.publish(executed(callId, { status, reason: 'schema-changed', result: null }));
    const { wakeUp } = (await ready(wakeOf(callId))).data.work;
    expect(wakeUp).toMatchObject({ outcome, status, reasonCode: 'schema-changed' });
  });

  it('in doubt, settled by a person → settled', async () => {
    const callId = newId();
    await world.publish(approved(callId));
    await world.publish(executed(callId, { settledBy: { kind: 'person', id: 'bob' } }));
    const { wakeUp } = (await ready(wakeOf(callId))).data.work;
    expect(wakeUp).toMatchObject({ settled: true, by: { id: 'bob' } });
  });

  it.each([
    ['rejected', 'person', ann],
    ['expired', 'deadline', null],
    ['withdrawn', 'policy-denied', null],
  ] as const)('approval.decided %s → wake-up with the sealed reason', async (decision, cause, by) => {
    const callId = newId();
    await world.publish(decided(callId, { decision, cause, by, reason: box('why') }));
    const { wakeUp } = (await ready(wakeOf(callId))).data.work;
    expect(wakeUp).toMatchObject({ outcome: decision, reasonCode: cause, by, reason: box('why'), number: 42 });
  });

  it('no wake-up: a call that nobody held, a cancelled one, an approval, a revision', async () => {
    const none = [newId(), newId(), newId(), newId()] as const;
    await world.publish(executed(none[0], { held: false }));
    await world.publish(executed(none[1], { cancelled: true }));
    await world.publish(approved(none[2]));
    await world.publish(decided(none[3], { decision: 'withdrawn', cause: 'revised' }));
    await offer();
    expect(await Promise.all(none.map((id) => world.task(wakeOf(id))))).toEqual(none.map(() => undefined));
  });

  it('one wake-up a call, whatever is heard of it twice', async () => {
    const callId = newId();
    await world.publish(decided(callId, { decision: 'rejected' }));
    await ready(wakeOf(callId));
    await world.publish(executed(callId));
    await offer();
    await eventually(
      async () =>
        (await world.db.selectFrom('tasks').select('task_id').where('state', '=', 'open').execute()).length === 0,
    );
    expect(await world.events('task.created', wakeOf(callId))).toHaveLength(1);
  });
});

describe('open → task.ready → offered', () => {
  it('under a lease of 60 s', async () => {
    const event = await offer();
    const task = await inState(event.subject, 'offered');
    expect(task.lease_until?.toISOString()).toBe(event.data.leaseUntil);
    const lease = Date.parse(event.data.leaseUntil) - Date.now();
    expect(lease).toBeGreaterThan(50_000);
    expect(lease).toBeLessThanOrEqual(60_000);
  });

  it('trigger.dev#4164: a lapsed lease → open → offered again, same attempt', async () => {
    const { subject } = await offer();
    await lapse(subject);
    expect((await ready(subject, 1, 2)).data.attempt).toBe(1);
    expect(await world.task(subject)).toMatchObject({ state: 'offered', attempt: 1 });
  });
});

const lapse = (taskId: string) =>
  world.db
    .updateTable('tasks')
    .set({ lease_until: sql<Date>`clock_timestamp() - interval '1 second'` })
    .where('task_id', '=', taskId)
    .execute();

describe('offered → accepted → running → done', () => {
  it('run.queued, run.started, run.completed ok → task.completed', async () => {
    const event = await offer();
    const run = runOf(event);
    await world.publish(run.queued);
    expect(await inState(event.subject, 'accepted')).toMatchObject({ run_id: run.id, lease_until: null });
    await world.publish(run.started);
    await inState(event.subject, 'running');
    await world.publish(run.completed('ok'));
    await inState(event.subject, 'done');
    const completed = await eventually(async () => (await world.events('task.completed', event.subject))[0]);
    expect(completed.data).toEqual({ attempt: 1, runId: run.id });
  });

  it('accepted has no time-out: what was taken is not offered again', async () => {
    const event = await offer();
    await world.publish(runOf(event).queued);
    await inState(event.subject, 'accepted');
    await offer();
    expect(await world.events('task.ready', event.subject)).toHaveLength(1);
  });

  it('an offer that lapsed before its acceptance was heard → accepted', async () => {
    const event = await offer();
    await lapse(event.subject);
    await world.publish(runOf(event).queued);
    await inState(event.subject, 'accepted');
  });

  it('run.completed before run.started and run.queued → done, once', async () => {
    const event = await offer();
    const run = runOf(event);
    await world.publish(run.completed('ok'));
    await inState(event.subject, 'done');
    await world.publish(run.started);
    await world.publish(run.queued);
    await offer();
    expect(await world.task(event.subject)).toMatchObject({ state: 'done', run_id: run.id });
    expect(await world.events('task.completed', event.subject)).toHaveLength(1);
  });

  it('a run of a task that is not there → dead letter, and the next run is heard', async () => {
    const event = await offer();
    const stranger = runOf({ ...event, subject: 'wake-nobody' });
    await world.publish(stranger.queued);
    await world.publish(runOf(event).queued);
    await inState(event.subject, 'accepted');
    await eventually(async () => {
      const letters = await sql<{ last_error: string }>`SELECT last_error FROM dead_letters`.execute(world.db);
      expect(letters.rows).toEqual([{ last_error: expect.stringContaining('does not have') }]);
      return true;
    });
  });
});

describe('running → open or dead', () => {
  it.each(['failed', 'interrupted'] as const)('%s → task.retried → open, next attempt', async (status) => {
    const event = await offer();
    const run = runOf(event);
    for (const e of [run.queued, run.started, run.completed(status, 'model-unavailable')]) await world.publish(e);
    expect((await ready(event.subject, 2)).data.work).toEqual(event.data.work);
    const [retried] = await world.events('task.retried', event.subject);
    expect(retried?.data).toMatchObject({ attempt: 2, reason: 'model-unavailable', by: null });
    await world.publish(run.started);
    await offer();
    expect(await world.task(event.subject)).toMatchObject({ attempt: 2, run_id: null });
  });

  it('five attempts → task.died → dead; a person retries → open, attempt 6', async () => {
    const { subject } = await offer();
    for (let attempt = 1; attempt <= 5; attempt++) {
      const run = runOf(await ready(subject, attempt));
      for (const e of [run.queued, run.started, run.completed('failed')]) await world.publish(e);
    }
    expect(await inState(subject, 'dead')).toMatchObject({ attempt: 5, reason: 'failed' });
    const died = await eventually(async () => (await world.events('task.died', subject))[0]);
    expect(died.data).toMatchObject({ attempts: 5, reason: 'failed', runId: expect.any(String) });

    expect((await world.post(`/v1/tasks/${subject}/retry`)).body).toMatchObject({ state: 'open', attempt: 6 });
    const run = runOf(await ready(subject, 6));
    for (const e of [run.queued, run.started, run.completed('failed')]) await world.publish(e);
    await ready(subject, 7);
    expect((await world.events('task.retried', subject)).map((e) => e.data.by)).toEqual([
      ...Array(4).fill(null),
      ann,
      null,
    ]);
  });
});

describe('unfinished → task.cancelled → cancelled', () => {
  it('by a person, naming the run', async () => {
    const event = await offer();
    const run = runOf(event);
    await world.publish(run.queued);
    await inState(event.subject, 'accepted');
    expect((await world.post(`/v1/tasks/${event.subject}/cancel`)).body).toMatchObject({
      state: 'cancelled',
      runId: run.id,
    });
    const cancelled = await eventually(async () => (await world.events('task.cancelled', event.subject))[0]);
    expect(cancelled.data).toEqual({ by: ann, reason: 'cancelled-by-person', runId: run.id });
  });

  it('before the run was known: the cancellation is repeated, naming the run', async () => {
    const event = await offer();
    await world.post(`/v1/tasks/${event.subject}/cancel`);
    const run = runOf(event);
    await world.publish(run.queued);
    const runs = await eventually(async () => {
      const all = await world.events('task.cancelled', event.subject);
      return all.length === 2 ? all.map((e) => e.data.runId) : undefined;
    });
    expect(runs).toEqual([null, run.id]);
    await world.publish(run.started);
    await world.publish(run.completed('cancelled'));
    await offer();
    expect(await world.events('task.cancelled', event.subject)).toHaveLength(2);
  });

  it('because its run was cancelled: by nobody known', async () => {
    const event = await offer();
    const run = runOf(event);
    for (const e of [run.queued, run.started, run.completed('cancelled')]) await world.publish(e);
    await inState(event.subject, 'cancelled');
    const cancelled = await eventually(async () => (await world.events('task.cancelled', event.subject))[0]);
    expect(cancelled.data).toEqual({ by: { kind: 'unknown', id: 'unknown' }, reason: 'run-cancelled', runId: run.id });
  });
});

it('several instances: 200 tasks due at once are offered once each', async () => {
  await world.instance();
  const calls = Array.from({ length: 200 }, () => newId());
  await Promise.all(calls.map((id) => world.publish(decided(id, { decision: 'rejected' }))));
  await eventually(
    async () => {
      const { rows } = await sql<{ n: number }>`
        SELECT count(*) AS n FROM tasks WHERE call_id = any(${calls}) AND state = 'offered'`.execute(world.db);
      return rows[0]?.n === 200;
    },
    { timeoutMs: 20_000 },
  );
  const offers = await eventually(async () => {
    const all = (await world.stream(`task.ready.${SPACE}.*`)).filter((e) => calls.includes(e.callid ?? ''));
    return all.length >= 200 ? all : undefined;
  });
  expect(new Set(offers.map((e) => e.subject)).size).toBe(200);
  expect(offers).toHaveLength(200);
});

it('rebuilt from the stream: the fold of the events is the table, but for leases', async () => {
  await eventually(
    async () => (await sql`SELECT FROM outbox WHERE sent_at IS NULL`.execute(world.db)).rows.length === 0,
  );
  const tasks = new Map<string, Task>();
  for (const event of (await world.stream()) as (TaskEvent | HoldpointEvent<'run.completed'>)[]) {
    const id = event.type.startsWith('task.') ? event.subject : 'taskId' in event.data ? event.data.taskId : undefined;
    if (event.type === 'task.created') tasks.set(event.subject, created(event));
    const task = id === undefined ? undefined : tasks.get(id);
    if (task && event.type !== 'task.created' && event.type !== 'run.completed')
      tasks.set(task.id, evolve(task, event));
  }
  const rows = await world.db.selectFrom('tasks').selectAll().execute();
  const comparable = (state: string, updatedAt: Date) =>
    state === 'offered' || state === 'open' ? ['open'] : [state, updatedAt.toISOString()];
  const fromTable = rows.map((r) => [
    r.task_id,
    r.space_id,
    r.work,
    r.attempt,
    r.attempt_limit,
    r.run_id,
    r.reason,
    r.cancelled_by_id,
    r.due_at.toISOString(),
    r.created_at.toISOString(),
    ...comparable(r.state, r.updated_at),
  ]);
  const fromStream = [...tasks.values()].map((t) => [
    t.id,
    t.spaceId,
    JSON.stringify(t.work),
    t.attempt,
    t.attemptLimit,
    t.runId,
    t.reason,
    t.cancelledBy?.id ?? null,
    t.dueAt.toISOString(),
    t.createdAt.toISOString(),
    ...comparable(t.state, t.updatedAt),
  ]);
  const byId = (a: unknown[], b: unknown[]) => String(a[0]).localeCompare(String(b[0]));
  expect(fromStream.toSorted(byId)).toEqual(fromTable.toSorted(byId));
});
