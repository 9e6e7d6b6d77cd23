import { chainView, type HoldpointEvent } from '@holdpoint/contracts';
import { newEvent, newId } from '@holdpoint/eventing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CallMaker, runEvents, SPACE, World } from './fixture.js';

let world: World;
const runId = newId();
let held: CallMaker;
let auto: CallMaker;
let told: HoldpointEvent[];

beforeAll(async () => {
  world = await World.open();
  await world.start();
  held = new CallMaker(world, { runId });
  auto = new CallMaker(world, { runId });
  const other = new CallMaker(world);
  const run = runEvents(runId);
  const wake = runEvents(newId(), { taskId: `wake-${held.id}` });
  told = [
    run.queued,
    run.started,
    await auto.proposed(),
    auto.verdict(),
    auto.started(),
    auto.executed(),
    await held.proposed(),
    held.verdict('approve'),
    held.staged(),
    run.completed,
    held.decided(),
    held.started(true),
    held.executed({ held: true }),
    held.taskCreated(),
  ];
  // with others' events in between
  for (const event of told) await world.publish(event, runEvents(newId()).queued);
  await world.publish(await other.proposed(), other.executed(), wake.queued, wake.completed);
  await world.logged();
});
afterAll(() => world.close());

const chain = async (path: string) => {
  const { events, runId: of } = chainView.parse((await world.get(path)).body);
  const bodies = events.map((e) => JSON.parse(Buffer.from(e.body, 'base64').toString()) as HoldpointEvent);
  return { of, events, bodies };
};

it('a run’s chain: its own events, its calls’ and those of the tasks they made, in stream order', async () => {
  const { of, events, bodies } = await chain(`/v1/runs/${runId}/chain`);
  expect(of).toBe(runId);
  expect(bodies).toEqual(told);
  expect(events.every((e) => e.log === 'equal')).toBe(true);
  expect(events.map((e) => e.seq)).toEqual(events.map((e) => e.seq).toSorted((a, b) => a - b));
});

it('a call’s chain: proposal, verdict, staging, decision, execution and the task it made', async () => {
  const { of, bodies } = await chain(`/v1/calls/${held.id}/chain`);
  expect(of).toBe(runId);
  expect(bodies.map((e) => e.type)).toEqual([
    'tool.proposed',
    'policy.decided',
    'call.staged',
    'approval.decided',
    'tool.started',
    'tool.executed',
    'task.created',
  ]);
});

it('says where the log is not the stream', async () => {
  const c = new CallMaker(world);
  const seq = await world.publish(c.executed());
  const later = await world.publish(c.started());
  await world.publish(runEvents(newId()).queued);
  await world.logged();
  await world.force(`UPDATE event_log SET body = '\\x7b7d' WHERE stream_seq = ${seq}`);
  const { events, bodies } = await chain(`/v1/calls/${c.id}/chain`);
  expect(events.map((e) => [e.seq, e.log])).toEqual([
    [seq, 'different'],
    [later, 'equal'],
  ]);
  expect(bodies[0]?.type).toBe('tool.executed');
});

it('404: unknown, and for a stranger the same', async () => {
  for (const path of [`/v1/runs/${newId()}/chain`, `/v1/calls/${newId()}/chain`])
    expect((await world.get(path)).status).toBe(404);
  expect((await world.get(`/v1/runs/${runId}/chain`, 'eve')).status).toBe(404);
  expect((await world.get(`/v1/calls/${held.id}/chain`, 'eve')).status).toBe(404);
});

it('shows no event of another space that claims the same run', async () => {
  const id = newId();
  const mine = runEvents(id).queued;
  await world.publish(mine);
  await world.publish(newEvent('run.queued', { spaceId: 'other', entityId: id, data: mine.data }));
  await world.logged();
  const { bodies } = await chain(`/v1/runs/${id}/chain`);
  expect(bodies.map((e) => e.spaceid)).toEqual([SPACE]);
});

it('GET /v1/audit/position tells how far the log is', async () => {
  const last = await world.lastSeq();
  expect((await world.get('/v1/audit/position')).body).toMatchObject({
    firstSeq: 1,
    lastSeq: last,
    streamSeq: last,
    lag: 0,
    writer: 'writing',
    fault: null,
  });
});
