import { projectionTables } from '@holdpoint/contracts';
import { newId } from '@holdpoint/eventing';
import { lostAndRebuilt, rebuild, recoveryOf } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { projection } from '../src/domain/projection.js';
import { CallMaker, runEvents, World } from './fixture.js';

const ROUNDS = process.env['HOLDPOINT_DEEP'] ? 500 : 5;

let world: World;
beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world.close());

/** Calls of every kind, in an order in which some events stand before what they are about. */
async function play(): Promise<void> {
  const calls = Array.from({ length: 6 }, () => new CallMaker(world));
  const [auto, held, denied, abandoned, cancelled, late] = calls as [
    CallMaker,
    CallMaker,
    CallMaker,
    CallMaker,
    CallMaker,
    CallMaker,
  ];
  for (const c of calls) await world.publish(await c.proposed());
  await world.publish(auto.verdict(), auto.started(), auto.executed());
  await world.publish(
    held.verdict('approve'),
    held.staged(),
    held.decided({ votes: [{ by: 'ann', role: 'owner', groups: [] }] }),
  );
  await world.publish(held.started(true), held.executed({ held: true, status: 'Error', reason: 'tool-error' }));
  await world.publish(denied.verdict('deny'), denied.executed({ status: 'Denied', reason: 'rule' }));
  await world.publish(abandoned.abandoned('no-verdict'), cancelled.executed({ status: 'Denied', cancelled: true }));
  await world.publish(late.verdict(), late.abandoned('engine-lost'));
  const run = runEvents(newId());
  await world.publish(run.queued, run.started, run.completed);
  // Once more: a duplicate and a second receipt, of which nothing comes.
  await world.publishRaw('agent-engine', `run.completed.acme.${run.completed.subject}`, JSON.stringify(run.completed));
  await world.publishRaw(
    'agent-engine',
    `run.completed.acme.${run.completed.subject}`,
    JSON.stringify({ ...run.completed, id: newId() }),
  );
  await world.publishRaw('agent-engine', 'run.completed.acme.r', 'not an event');
}

test('entries and receipts are built anew from the log, row by row', async () => {
  const audit = await world.start();
  for (let i = 0; i < ROUNDS; i++) await play();
  await world.logged();
  await audit.close();
  const { before, looked, after, lines } = await lostAndRebuilt(world.database, world.bus, 'audit', true);
  expect(looked.named).toEqual([]);
  expect(Object.keys(before)).toEqual(projectionTables(projection));
  expect(before['run_receipts']?.length).toBe(ROUNDS);
  expect(before['audit_log']?.length).toBe(6 * ROUNDS);
  expect(after).toEqual(before);
  if (process.env['HOLDPOINT_DEEP']) console.log(lines.join('\n'));
});

test('an entry that was tampered with is named and put right; the log is append-only as before', async () => {
  await world.force(`UPDATE audit.audit_log SET status = 'Ok', principal_id = 'nobody' WHERE status = 'Error'`);
  const { named, total } = await rebuild(recoveryOf(world.database, world.bus), 'audit');
  expect({ total, columns: named[0]?.columns }).toEqual({ total: ROUNDS, columns: ['principal_id', 'status'] });
  await expect(world.db.deleteFrom('audit_log').execute()).rejects.toThrow(/append-only/);
});

test('a row of the log that is gone stops everything: nothing is made of a log with a hole', async () => {
  await world.force(
    'DELETE FROM audit.audit_log; DELETE FROM audit.run_receipts; DELETE FROM audit.event_log WHERE stream_seq = 3',
  );
  await expect(rebuild(recoveryOf(world.database, world.bus), 'audit')).rejects.toThrow('the log has holes');
});
