import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type PolicyCheckReply, projectionTables } from '@holdpoint/contracts';
import { newEvent, newId, type Stored } from '@holdpoint/eventing';
import { eventually, lostAndRebuilt, rebuild, recoveryOf, untilQuiet } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { projection } from '../src/domain/projection.js';
import { startEngine, type TestEngine } from './engine.js';
import { approvalOf, verdictOn } from './events.js';
import { play, scriptOf } from './script.js';

let engine: TestEngine;
let answer: Partial<PolicyCheckReply> = {};
const write = (path: string) => play('FileRW', JSON.stringify({ action: 'write', path, content: 'x' }));

beforeAll(async () => {
  engine = await startEngine({
    policy: () => answer,
    env: { STAGED_TIMEOUT_MS: '100', VERDICT_TIMEOUT_MS: '60000' },
    script: scriptOf({
      auto: write('a.txt'),
      read: play('FileRW', '{"action":"read","path":"given.txt"}'),
      denied: write('d.txt'),
      halted: write('h.txt'),
      held: write('held.txt'),
      'held and denied': write('no.txt'),
      waiting: write('w.txt'),
    }),
  });
  await writeFile(join(engine.workspace, 'given.txt'), 'what stands there');
});
afterAll(() => engine.stop());

const proposed = async (prompt: string): Promise<Stored<'tool.proposed'>> => {
  const [callId] = await engine.calls(await engine.run(prompt));
  return engine.stored('tool.proposed', callId as string);
};
const judged = async (prompt: string, verdict: 'auto' | 'approve' | 'deny') => {
  const p = await proposed(prompt);
  await engine.as.policy.publish(verdictOn(p, verdict));
  return p;
};
const released = async (prompt: string) => {
  const p = await judged(prompt, 'approve');
  await engine.as.staging.publish(approvalOf(p));
  return p;
};
const ended = (p: Stored<'tool.proposed'>) => engine.stored('tool.executed', p.event.subject);

test('claims and announced tools are built anew from the stream, row by row; what is backed up is not touched', async () => {
  for (const p of [await judged('auto', 'auto'), await judged('read', 'auto'), await judged('denied', 'deny')])
    await ended(p);
  answer = { verdict: 'deny', reason: 'rule' };
  for (const p of [await judged('halted', 'auto'), await released('held and denied')]) await ended(p);
  answer = {};
  await ended(await released('held'));
  const waiting = await judged('waiting', 'approve');
  await engine.ended(waiting.event.runid as string);

  const { conversationId } = await engine.ended(await engine.run('auto again'));
  const offer = (attempt: number) =>
    newEvent('task.ready', {
      spaceId: 'acme',
      entityId: 'task-1',
      data: {
        work: { conversationId, agent: 'helper', principal: { kind: 'person', id: 'ada' }, wakeUp: wakeUpOf(waiting) },
        attempt,
        leaseUntil: new Date(Date.now() + 60_000).toISOString(),
      },
    });
  // Offered twice, as after a lapse: one run.
  for (const attempt of [1, 1, 2]) await engine.as.taskboard.publish(offer(attempt));
  await eventually(
    async () =>
      (
        await engine.db
          .selectFrom('runs')
          .select('run_id')
          .where('task_id', '=', 'task-1')
          .where('state', '=', 'ok')
          .execute()
      ).length === 2,
  );
  await untilQuiet(engine.database, engine.bus, 'agent-engine');
  await engine.halt();

  const runs = await engine.db.selectFrom('runs').selectAll().orderBy('run_id').execute();
  const { before, looked, rebuilt, after } = await lostAndRebuilt(engine.database, engine.bus, 'agent-engine', true);
  expect(looked.named).toEqual([]);
  expect(Object.keys(before)).toEqual(projectionTables(projection));
  expect(before['executions']?.map((r) => (r as { state: string }).state).sort()).toEqual([
    'closed',
    'closed',
    'refused',
    'refused',
  ]);
  expect(after).toEqual(before);
  expect(rebuilt.unanswered).toEqual(new Map());
  expect(await engine.db.selectFrom('runs').selectAll().orderBy('run_id').execute()).toEqual(runs);
});

test('a release that nobody acted upon is named, to be handed out again', async () => {
  const waiting = await engine.db.selectFrom('calls').select('call_id').where('answer', 'is not', null).execute();
  const held = await Promise.all(waiting.map((c) => engine.reader.last('tool.proposed', 'acme', c.call_id)));
  const open = held.find(
    (p) => p?.event.data.frozen && p.event.data.call.tool === 'FileRW' && p !== null,
  ) as Stored<'tool.proposed'>;
  const fresh = { ...open, event: { ...open.event, subject: newId() } };
  fresh.event.callid = fresh.event.subject;
  const { seq } = await engine.as.staging.publish(approvalOf(fresh));
  const { unanswered } = await rebuild(recoveryOf(engine.database, engine.bus), 'agent-engine');
  expect(unanswered).toEqual(new Map([['agent-engine__approval_decided', seq]]));
});

const wakeUpOf = ({ event }: Stored<'tool.proposed'>) => ({
  callId: event.subject,
  number: 1,
  tool: 'FileRW',
  action: 'write',
  outcome: 'rejected' as const,
  status: null,
  settled: false,
  reasonCode: null,
  by: null,
  result: null,
  reason: null,
});
