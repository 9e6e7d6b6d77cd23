import { newEvent, newId } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CallMaker, runEvents, SPACE, World } from './fixture.js';

// The log is held against its grammar as it grows: what the table forbids, and what should have gone on, are metrics.

let world: World;
let url: string;
beforeAll(async () => {
  world = await World.open();
  const app = await world.start({ AUDIT_WATCH_MS: '50', AUDIT_WATCH_OVERDUE_MS: '300' });
  url = await app.getUrl();
});
afterAll(() => world.close());

const metric = async (name: string) => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return new Map(
    text.split('\n').flatMap((line): [string, number][] => {
      const [, labels = '', value = ''] = new RegExp(`^${name}(?:\\{code="([^"]*)"\\})? (\\d+)$`).exec(line) ?? [];
      return value === '' ? [] : [[labels, Number(value)]];
    }),
  );
};
const seen = (seq: number) =>
  eventually(async () => ((await metric('holdpoint_chain_watched_seq')).get('') ?? 0) >= seq);

it('a run that stands still is overdue, until it ends; what waits for nobody is not', async () => {
  const { queued, started, completed } = runEvents(newId());
  await world.publish(queued);
  await seen(await world.publish(started));
  await eventually(async () => (await metric('holdpoint_chain_overdue')).get('run.unfinished') === 1);
  await world.publish(completed);
  await eventually(async () => !(await metric('holdpoint_chain_overdue')).has('run.unfinished'));
  expect((await metric('holdpoint_chain_violations')).size).toBe(0);
});

it('a held call that closed and woke nobody is overdue', async () => {
  const runId = newId();
  const { queued, started, completed } = runEvents(runId);
  const c = new CallMaker(world, { runId });
  const proposed = await c.proposed();
  const call = proposed.data.call;
  const of = new CallMaker(world, { runId, id: c.id, ref: call });
  await world.publish(queued, started);
  const proposalSeq = await world.publish(proposed);
  const verdict = of.verdict('approve');
  await world.publish({ ...verdict, data: { ...verdict.data, proposalSeq } });
  await world.publish(of.staged(), of.decided({ decision: 'rejected' }));
  await seen(await world.publish(completed));
  await eventually(async () => (await metric('holdpoint_chain_overdue')).get('wake.missing') === 1);
});

it('what the table forbids is counted by its code, once', async () => {
  const before = await metric('holdpoint_chain_violations');
  const seq = await world.publish(
    newEvent('run.key-destroyed', {
      spaceId: SPACE,
      entityId: 'conversation-7',
      data: { conversationId: 'conversation-8', kid: 'dk', by: { kind: 'person', id: 'ann' }, reason: 'x' },
    }),
  );
  await seen(seq);
  const after = await metric('holdpoint_chain_violations');
  expect((after.get('run.identity') ?? 0) - (before.get('run.identity') ?? 0)).toBe(1);
});
