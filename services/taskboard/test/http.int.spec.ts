import { page, type TaskView, taskView } from '@holdpoint/contracts';
import { newId } from '@holdpoint/eventing';
import { unguardedRoutes } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, call, decided, runOf, SPACE, World } from './fixture.js';

let world: World;
const calls = Array.from({ length: 5 }, () => newId());

beforeAll(async () => {
  world = await World.open();
  for (const [i, id] of calls.entries())
    await world.publish(
      decided(id, { decision: 'rejected', call: { ...call, conversationId: `conversation-${i % 2}` } }),
    );
  await eventually(async () => list(await world.get('/v1/tasks?state=offered')).items.length === calls.length);
});
afterAll(() => world.close());

const list = (answer: Answer) => page(taskView).parse(answer.body);
const callsOf = (tasks: TaskView[]) => tasks.map((t) => t.callId).toSorted();
const path = (callId: string | undefined, command = '') => `/v1/tasks/wake-${callId}${command}`;

describe('GET /v1/tasks', () => {
  it('gives the tasks of one’s spaces, as the contract says', async () => {
    const { items } = list(await world.get('/v1/tasks'));
    expect(callsOf(items)).toEqual(calls.toSorted());
    expect(items[0]).toMatchObject({ spaceId: SPACE, kind: 'wake-up', state: 'offered', attempt: 1, runId: null });
    expect(list(await world.get('/v1/tasks', 'eve')).items).toEqual([]);
  });
  it.each([
    [() => 'state=done', 0],
    [() => 'state=offered', 5],
    [() => 'conversation=conversation-1', 2],
    [() => `call=${calls[3]}`, 1],
    [() => `space=${SPACE}&conversation=conversation-0`, 3],
  ])('filters', async (query, found) => {
    expect(list(await world.get(`/v1/tasks?${query()}`)).items).toHaveLength(found);
  });
  it('pages by cursor, each task once, newest first', async () => {
    const seen: TaskView[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const answer: { items: TaskView[]; nextCursor?: string | undefined } = list(
        await world.get(`/v1/tasks?limit=2${cursor && `&cursor=${cursor}`}`),
      );
      seen.push(...answer.items);
      cursor = answer.nextCursor;
    }
    expect(callsOf(seen)).toEqual(calls.toSorted());
    const times = seen.map((t) => t.createdAt);
    expect(times).toEqual(times.toSorted().toReversed());
  });
  it.each(['state=lost', 'limit=0', 'cursor=x', 'colour=red', 'call=A.B'])(
    '400 for %s, naming the field',
    async (query) => {
      const answer = await world.get(`/v1/tasks?${query}`);
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: query.split('=')[0] }] } });
    },
  );
  it('404 for a space that one is not a member of', async () => {
    expect((await world.get(`/v1/tasks?space=${SPACE}`, 'eve')).status).toBe(404);
  });
});

describe('GET /v1/tasks/:id', () => {
  it('shows one', async () => {
    expect((await world.get(path(calls[0]))).body).toMatchObject({ callId: calls[0], agent: 'writer' });
  });
  it('404: unknown, and for a stranger the same answer', async () => {
    const unknown = await world.get(path('nothing'));
    const stranger = await world.get(path(calls[0]), 'eve');
    expect([unknown.status, stranger.status]).toEqual([404, 404]);
    expect(unknown.body['detail']).toBeTruthy();
  });
});

describe('POST retry and cancel', () => {
  it.each(['retry', 'cancel'])('%s: a member may not, a stranger sees nothing', async (command) => {
    expect((await world.post(path(calls[0], `/${command}`), 'max')).status).toBe(403);
    expect((await world.post(path(calls[0], `/${command}`), 'eve')).status).toBe(404);
    expect((await world.post(path('nothing', `/${command}`))).status).toBe(404);
  });
  it('409 in the wrong state, with state and when', async () => {
    const { body } = await world.get(path(calls[0]));
    expect(await world.post(path(calls[0], '/retry'))).toMatchObject({
      status: 409,
      body: { code: 'taskboard.wrong-state', state: 'offered', since: body['updatedAt'] },
    });
  });
  it('cancel: once; a second time 409 cancelled', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => world.post(path(calls[1], '/cancel'))));
    expect(answers.map((a) => a.status).toSorted()).toEqual([200, 409, 409]);
    expect((await world.get(path(calls[1]))).body).toMatchObject({ state: 'cancelled', reason: 'cancelled-by-person' });
  });
  it('done: neither', async () => {
    const ready = await eventually(async () => (await world.events('task.ready', `wake-${calls[2]}`))[0]);
    await world.publish(runOf(ready).completed('ok'));
    await eventually(async () => (await world.get(path(calls[2]))).body['state'] === 'done');
    expect((await world.post(path(calls[2], '/cancel'))).body).toMatchObject({ status: 409, state: 'done' });
    expect((await world.post(path(calls[2], '/retry'))).body).toMatchObject({ status: 409, state: 'done' });
  });
});

describe('POST /v1/tasks', () => {
  const order = { agent: 'writer', prompt: 'Write the report.' };

  it('– → task.created → open: by a member, in a conversation of its own, the prompt sealed', async () => {
    const dueAt = '2126-01-01T00:00:00.000Z';
    const answer = await world.post('/v1/tasks', 'max', { ...order, dueAt });
    expect(answer.status).toBe(201);
    const task = taskView.parse(answer.body);
    expect(task).toMatchObject({ kind: 'prompt', spaceId: SPACE, state: 'open', callId: null, dueAt });
    expect(task.conversationId).toBe(task.id);
    const [event] = await eventually(async () => {
      const found = await world.events('task.created', task.id);
      return found.length > 0 ? found : undefined;
    });
    expect(event?.data.createdBy).toEqual({ kind: 'person', id: 'max' });
    const row = await world.task(task.id);
    for (const kept of [JSON.stringify(event), JSON.stringify(row)]) expect(kept).not.toContain(order.prompt);
    expect(world.engine.asked.at(-1)).toMatchObject({ taskId: task.id, spaceId: SPACE, prompt: order.prompt });
  });

  it('open → task.ready: offered at once when no time is named, in the conversation that was named', async () => {
    const { body } = await world.post('/v1/tasks', 'max', { ...order, conversationId: 'conversation-1' });
    const [ready] = await eventually(async () => {
      const found = await world.events('task.ready', body['id'] as string);
      return found.length > 0 ? found : undefined;
    });
    expect(ready?.data.work).toMatchObject({ conversationId: 'conversation-1', agent: 'writer' });
    expect(ready?.data.work.prompt).toBeDefined();
  });

  it('– → task.created → open: by a service, which names the space', async () => {
    expect(await world.post('/v1/tasks', 'policy', order)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'space' }] },
    });
    const { status, body } = await world.post('/v1/tasks', 'policy', { ...order, space: SPACE });
    expect(status).toBe(201);
    const row = await world.task(body['id'] as string);
    expect(row).toMatchObject({ created_by_kind: 'service', created_by_id: 'policy' });
  });

  it('one task a key and creator, however often and however fast it is sent', async () => {
    const keyed = { ...order, idempotencyKey: 'report-7' };
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.post('/v1/tasks', 'max', keyed)));
    expect(answers.map((a) => a.status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    expect(new Set(answers.map((a) => a.body['id'])).size).toBe(1);
    const other = await world.post('/v1/tasks', 'ann', keyed);
    expect(other.status).toBe(201);
    const reused = { ...keyed, conversationId: 'conversation-1' };
    expect(await world.post('/v1/tasks', 'max', reused)).toMatchObject({
      status: 409,
      body: { code: 'taskboard.key-used' },
    });
  });

  it('refused: no such agent or conversation, a space of others, nothing to do', async () => {
    expect((await world.post('/v1/tasks', 'max', { ...order, agent: 'nobody' })).status).toBe(404);
    expect((await world.post('/v1/tasks', 'max', { ...order, conversationId: 'another' })).status).toBe(404);
    expect((await world.post('/v1/tasks', 'eve', { ...order, space: SPACE })).status).toBe(404);
    expect(await world.post('/v1/tasks', 'max', { agent: 'writer', prompt: '' })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'prompt' }] },
    });
  });
});

it('metrics count tasks by state, and name none', async () => {
  const text = await (await fetch(`${world.url}/metrics`)).text();
  expect(text).toMatch(/^holdpoint_tasks\{state="[a-z]+"\} \d+$/m);
  expect(text).not.toContain(SPACE);
});

it('no route without a guard', async () => {
  expect(await unguardedRoutes(world.app)).toEqual(['GET /healthz', 'GET /metrics', 'GET /readyz']);
});

it('503 and no task when the engine does not answer', async () => {
  const before = list(await world.get('/v1/tasks?limit=200')).items.length;
  await world.engine.close();
  const answer = await world.post('/v1/tasks', 'max', { agent: 'writer', prompt: 'Write.' });
  expect(answer).toMatchObject({ status: 503, body: { code: 'taskboard.engine-unavailable' } });
  expect(list(await world.get('/v1/tasks?limit=200')).items).toHaveLength(before);
});

it('is ready', async () => {
  expect((await fetch(`${world.url}/readyz`)).status).toBe(200);
});
