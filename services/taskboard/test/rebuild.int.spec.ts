import { type HoldpointEvent, projectionTables, subjectOf } from '@holdpoint/contracts';
import { newEvent, newId } from '@holdpoint/eventing';
import {
  CannotRecover,
  eventually,
  loseSchema,
  rebuild,
  rebuildableRows,
  recoveryOf,
  untilQuiet,
} from '@holdpoint/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { projection } from '../src/domain/projection.js';
import { ann, approved, box, decided, executed, runOf, SPACE, World } from './fixture.js';

/** Seeded, so that a failure can be played again. */
const SEED = 20_261_130;
const MANY = process.env['HOLDPOINT_DEEP'] ? 100_000 : 1_000;
const CALLS = process.env['HOLDPOINT_DEEP'] ? 400 : 40;

let world: World;
beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world.close());

const lines: string[] = [];
const recovery = () => recoveryOf(world.database, world.bus, lines);
const rows = () => rebuildableRows(world.database, 'taskboard');
const quiet = () => untilQuiet(world.database, world.bus, 'taskboard');
/** An offer once it is in the stream, as an engine takes it; found by its outbox row, not by reading the stream each time. */
const offersOf = (task: string, attempt: number): Promise<HoldpointEvent<'task.ready'>> =>
  eventually(async () => {
    const { rows } = await sql<{ body: string }>`
      SELECT body FROM outbox WHERE subject = ${`task.ready.${SPACE}.${task}`} AND sent_at IS NOT NULL ORDER BY id DESC LIMIT 1
    `.execute(world.db);
    const event = rows[0] && (JSON.parse(rows[0].body) as HoldpointEvent<'task.ready'>);
    return event?.data.attempt === attempt ? event : undefined;
  });

it('what was played is built anew from the stream alone, row by row', async () => {
  for (let i = 0; i < CALLS; i += 40)
    await Promise.all(Array.from({ length: 40 }, (_, k) => play(seeded(SEED + i + k), i + k)));
  await quiet();
  await world.app.close();
  const before = await rows();
  expect(Object.keys(before)).toEqual(projectionTables(projection));
  const states = new Set(before['tasks']?.map((t) => (t as { state: string }).state));
  for (const state of ['done', 'dead', 'cancelled', 'running', 'accepted']) expect(states).toContain(state);

  await expect(rebuild(recovery(), 'taskboard', true)).resolves.toMatchObject({ named: [], exchanged: false });
  await loseSchema(world.database, 'taskboard');
  const began = performance.now();
  const { total, exchanged, unanswered, upTo } = await rebuild(recovery(), 'taskboard');
  expect({ exchanged, unanswered }).toEqual({ exchanged: true, unanswered: new Map() });
  expect(total).toBe(Object.values(before).flat().length);
  expect(await offeredAsOpen(await rows())).toEqual(await offeredAsOpen(before));
  if (process.env['HOLDPOINT_DEEP'])
    console.log(`seed ${SEED}: ${upTo} events in ${Math.round(performance.now() - began)} ms\n${lines.join('\n')}`);
});

it('a row that was changed, one that went and one too many are named and put right, guards and all', async () => {
  const before = await rows();
  const [changed, gone] = await world.db.selectFrom('tasks').selectAll().orderBy('task_id').limit(2).execute();
  if (changed === undefined || gone === undefined) throw new Error('nothing was played');
  await sql`ALTER TABLE tasks DISABLE TRIGGER guard_task`.execute(world.db);
  await world.db.updateTable('tasks').set({ agent: 'mallory' }).where('task_id', '=', changed.task_id).execute();
  await world.db.deleteFrom('tasks').where('task_id', '=', gone.task_id).execute();
  await sql`INSERT INTO approvals VALUES ('forged', 'acme', 1, null, null, null)`.execute(world.db);
  await sql`ALTER TABLE tasks ENABLE ALWAYS TRIGGER guard_task`.execute(world.db);

  const { named, total } = await rebuild(recovery(), 'taskboard');
  expect(total).toBe(3);
  expect(named).toEqual([
    { table: 'tasks', kind: 'differs', key: [changed.task_id], columns: ['agent'] },
    { table: 'tasks', kind: 'missing', key: [gone.task_id], columns: [] },
    { table: 'approvals', kind: 'extra', key: ['forged'], columns: [] },
  ]);
  expect(await offeredAsOpen(await rows())).toEqual(await offeredAsOpen(before));
  await expect(
    world.db.updateTable('tasks').set({ work: '{}' }).where('task_id', '=', changed.task_id).execute(),
  ).rejects.toThrow(/cannot go/);
});

it('ended in the middle it goes on where it was, and nothing was changed before its end', async () => {
  await loseSchema(world.database, 'taskboard');
  const ends = {
    ...recovery(),
    say: () => {
      throw new Error('killed');
    },
  };
  await expect(rebuild(ends, 'taskboard')).rejects.toThrow('killed');
  expect((await rows())['tasks']).toEqual([]);
  lines.length = 0;
  await rebuild(recovery(), 'taskboard');
  expect(lines[0]).toMatch(/goes on at sequence/);
  expect((await rows())['tasks']?.length).toBeGreaterThanOrEqual(CALLS);
});

it('what its outbox promises counts as told; an event that had no effect yet is not remembered, and is named', async () => {
  const holder = await world.db.connection().execute(async (session) => {
    await sql`SELECT pg_advisory_lock(hashtextextended('holdpoint.outbox.taskboard', 0))`.execute(session);
    const app = await world.instance();
    world.url = await app.getUrl();
    const { status, body } = await world.post('/v1/tasks', 'ann', {
      agent: 'writer',
      prompt: 'later',
      dueAt: '2100-01-01T00:00:00.000Z',
    });
    expect(status).toBe(201);
    await app.close();
    await sql`SELECT pg_advisory_unlock_all()`.execute(session);
    return body['id'] as string;
  });
  const waking = newId();
  await world.publish(executed(waking));
  const { total, unanswered } = await rebuild(recovery(), 'taskboard');
  expect({ total, task: (await world.task(holder))?.state }).toEqual({ total: 0, task: 'open' });
  const seq = (await world.stream()).length;
  expect(unanswered).toEqual(new Map([['taskboard__tool_executed', seq]]));
});

it('many events: in batches, with a memory that does not grow with them', async () => {
  const before = (await world.stream()).length;
  let next = 0;
  const publish = async () => {
    while (next < MANY) {
      const task = newId();
      const run = newId();
      next += 5;
      for (const event of oneTask(task, run))
        await world.hub.js.publish(subjectOf(event), JSON.stringify(event), { msgID: event.id });
    }
  };
  await Promise.all(Array.from({ length: 64 }, publish));
  lines.length = 0;
  const memory: number[] = [];
  const watch = setInterval(() => memory.push(process.memoryUsage().rss), 100);
  const began = performance.now();
  const { total, upTo } = await rebuild(recovery(), 'taskboard');
  clearInterval(watch);
  const seconds = (performance.now() - began) / 1000;
  expect(upTo).toBe(before + MANY);
  // A task, and what was taken in of its run's two events.
  expect(total).toBe((MANY / 5) * 3);
  const { n } = await world.db
    .selectFrom('tasks')
    .select((e) => e.fn.countAll<string>().as('n'))
    .where('state', '=', 'done')
    .where('kind', '=', 'prompt')
    .executeTakeFirstOrThrow();
  expect(Number(n)).toBe(MANY / 5);
  await expect(rebuild(recovery(), 'taskboard', true)).resolves.toMatchObject({ total: 0 });
  if (process.env['HOLDPOINT_DEEP'])
    console.log(
      `${upTo} events in ${seconds.toFixed(1)} s, at most ${Math.round(Math.max(...memory) / 2 ** 20)} MiB\n${lines.join('\n')}`,
    );
});

it('it is refused while the service runs', async () => {
  await world.instance();
  await eventually(async () => {
    const refusal = await rebuild(recovery(), 'taskboard').catch((err: Error) => err);
    return refusal instanceof CannotRecover && /runs\. Stop every instance/.test(refusal.message) ? true : undefined;
  });
});

/** A task that somebody ordered and a run has done, as five events. */
function oneTask(task: string, run: string): HoldpointEvent[] {
  const work = { conversationId: 'conversation-1', agent: 'writer', principal: ann, prompt: box('do it') };
  const about = { spaceId: SPACE, entityId: task };
  const offered = newEvent('task.ready', {
    ...about,
    data: { work, attempt: 1, leaseUntil: new Date().toISOString() },
  });
  const { queued, completed } = runOf(offered, run);
  const done = completed('ok');
  return [
    newEvent('task.created', { ...about, data: { work, createdBy: ann, dueAt: new Date().toISOString() } }),
    offered,
    queued,
    done,
    newEvent('task.completed', { ...about, causationId: done.id, data: { attempt: 1, runId: run } }),
  ];
}

/** An offer lapses without an event. */
const offeredAsOpen = (all: Record<string, unknown[]>) =>
  JSON.parse(JSON.stringify(all).replaceAll('"state":"offered"', '"state":"open"')) as unknown;

/** One of ten fates, by its number: a held call and what becomes of it and of its wake-up. */
async function play(random: () => number, i: number): Promise<void> {
  const callId = newId();
  const r = random();
  if (r < 0.2) await world.publish(decided(callId, { decision: 'rejected', reason: box('no') }));
  else {
    await world.publish(approved(callId, Math.ceil(random() * 900), random() < 0.5 ? box('yes') : null));
    await world.publish(executed(callId, random() < 0.3 ? { status: 'Error', reason: 'tool-error' } : {}));
  }
  const task = `wake-${callId}`;
  const ready = await offersOf(task, 1);
  const fate = (i % 10) / 10;
  if (fate < 0.05) return;
  if (fate < 0.25) {
    await world.post(`/v1/tasks/${task}/cancel`);
    // A run that nobody knew of when its task was cancelled.
    if (random() < 0.5) await world.publish(runOf(ready).queued);
    return;
  }
  if (fate < 0.35) {
    for (let attempt = 1; attempt <= 5; attempt++) {
      const failing = runOf(await offersOf(task, attempt));
      await world.publish(failing.queued);
      await world.publish(failing.started);
      await world.publish(failing.completed('failed', 'model.refused'));
    }
    await eventually(async () => (await world.task(task))?.state === 'dead' || undefined);
    if (random() < 0.3) await world.post(`/v1/tasks/${task}/retry`);
    return;
  }
  const run = runOf(ready);
  await world.publish(run.queued);
  if (fate < 0.45) return;
  await world.publish(run.started);
  if (fate < 0.55) return;
  await world.publish(run.completed(random() < 0.8 ? 'ok' : 'cancelled'));
}

/** mulberry32 */
function seeded(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
