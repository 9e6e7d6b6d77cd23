import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newEvent, newId } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineAction, done, type Tool } from '../src/tools/tool.js';
import { startEngine, type TestEngine } from './engine.js';
import { eventsOf } from './event-stream.js';
import { verdictOn } from './events.js';
import { play, scriptOf, turn } from './script.js';

// What people see of a run while it is played, and how they stop it.

const write = (path: string) => ({
  tool: 'FileRW',
  arguments: JSON.stringify({ action: 'write', path, content: 'x' }),
});
const press = (n: number) => ({ tool: 'Slow', arguments: `{"action":"press","n":${n}}` });
const SSE = 'text/event-stream';
const allOf = async <T>(events: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const e of events) all.push(e);
  return all;
};

describe('watching and cancelling', () => {
  let engine: TestEngine;
  let slow = Promise.withResolvers<void>();
  let pressed: number[] = [];

  const tool: Tool = {
    name: 'Slow',
    description: 'Takes as long as the test wants.',
    actions: [
      defineAction({
        name: 'press',
        description: 'Writes.',
        hint: 'write',
        scope: 'user',
        executionClass: 'at-most-once',
        schema: z.strictObject({ action: z.literal('press'), n: z.int() }),
        timeoutMs: 20_000,
        run: async ({ n }) => {
          pressed.push(n);
          await slow.promise;
          return done(`pressed ${n}`);
        },
      }),
    ],
  };

  beforeAll(async () => {
    engine = await startEngine({
      tools: ['FileRW', 'Slow'],
      extraTools: [tool],
      env: { VERDICT_TIMEOUT_MS: '20000' },
      script: scriptOf({
        'three ends': turn([write('a.txt'), write('b.txt'), write('c.txt')]),
        odd: turn([
          { tool: 'Bomb', arguments: '{"action":"go"}' },
          { tool: 'FileRW', arguments: '{"action":1}' },
        ]),
        waits: play('FileRW', '{"action":"write","path":"w.txt","content":"x"}'),
        thinks: turn([], { waitMs: 60_000 }),
        presses: turn([press(1), press(2)]),
        hello: '      - text: hello yourself\n',
      }),
    });
  });
  afterAll(() => engine.stop());

  const proposal = (callId: string) => engine.stored('tool.proposed', callId);
  const watch = (path: string, body?: unknown, more: Parameters<TestEngine['request']>[3] = {}) =>
    engine.request(body === undefined ? 'GET' : 'POST', path, body, { accept: SSE, ...more });
  const cancel = (runId: string, who: 'ada' | 'ben' | 'cleo' | 'mallory' = 'ada') =>
    engine.ask('POST', `/v1/runs/${runId}/cancel`, undefined, { who });
  const stateOf = async (runId: string) => (await engine.ask('GET', `/v1/runs/${runId}`)).body['state'];
  const running = (runId: string) =>
    eventually(async () => (await stateOf(runId)) === 'running', { what: 'the run to start' });

  describe('progress', () => {
    it('tells each thing once, in order, and ends with the receipt: executed, denied and held with its number', async () => {
      const response = await watch('/v1/agents/helper/runs', { prompt: 'three ends' });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
      expect(response.headers.get('cache-control')).toBe('no-store');
      const seen: { type: string; id: string; [k: string]: unknown }[] = [];
      const verdicts = ['auto', 'deny', 'approve'] as const;
      for await (const e of eventsOf(response)) {
        seen.push(e);
        if (e.type !== 'call.proposed') continue;
        const p = await proposal(e.callId);
        const verdict = verdicts[seen.filter((s) => s.type === 'call.proposed').length - 1] ?? 'deny';
        await engine.as.policy.publish(verdictOn(p, verdict, { reason: 'because' }));
        if (verdict !== 'approve') continue;
        const { call, hint } = p.event.data;
        await engine.as.staging.publish(
          newEvent('call.staged', {
            spaceId: 'acme',
            entityId: e.callId,
            callId: e.callId,
            data: {
              call,
              number: 42,
              hint,
              expiresAt: new Date(Date.now() + 60_000).toISOString(),
              rule: 'test',
              policyVersion: 'v1',
              flags: [],
            },
          }),
        );
      }
      expect(seen.map((s) => s.type)).toEqual([
        'run.queued',
        'run.started',
        'step',
        'call.proposed',
        'call.executed',
        'call.proposed',
        'call.denied',
        'call.proposed',
        'call.held',
        'step',
        'run.completed',
      ]);
      expect(seen[2]).toMatchObject({ step: 1, text: 'I act.' });
      expect(seen[4]).toMatchObject({ tool: 'FileRW', action: 'write', status: 'Ok', step: 1 });
      expect(seen[6]).toMatchObject({ reason: 'because' });
      expect(seen[8]).toMatchObject({ number: 42 });
      expect(seen.at(-1)).toMatchObject({ run: { state: 'ok', result: 'finished', steps: 2 } });
      expect(new Set(seen.map((s) => s.id)).size).toBe(seen.length);

      // followed again, by another member and from another instance: the same things under the same ids
      const { id } = (seen[0] as unknown as { run: { id: string } }).run;
      const again: string[] = [];
      const other = await watch(`/v1/runs/${id}`, undefined, { who: 'ben', at: await engine.another() });
      for await (const e of eventsOf(other)) again.push(e.id);
      expect(again.toSorted()).toEqual(seen.map((s) => s.id).toSorted());
    });

    it('tells of calls that were refused before they were proposed', async () => {
      const response = await watch('/v1/agents/helper/runs', { prompt: 'odd' });
      const ends = (await allOf(eventsOf(response))).filter((e) => e.type.startsWith('call.'));
      expect(ends).toMatchObject([
        { type: 'call.executed', status: 'NotFound', tool: 'Bomb', action: null },
        { type: 'call.executed', status: 'Error', tool: 'FileRW' },
      ]);
    });

    it('a client that goes away does not end the run', async () => {
      const response = await watch('/v1/agents/helper/runs', { prompt: 'waits' });
      let runId = '';
      let callId = '';
      for await (const e of eventsOf(response)) {
        if (e.type === 'run.started') runId = e.run.id;
        if (e.type !== 'call.proposed') continue;
        callId = e.callId;
        // leaving the loop closes the connection
        break;
      }
      await engine.as.policy.publish(verdictOn(await proposal(callId), 'deny'));
      expect((await engine.ended(runId)).state).toBe('ok');
    });

    it('is for members: to others there is no such agent and no such run', async () => {
      const runId = await engine.run('hello');
      for (const response of [
        await watch('/v1/agents/helper/runs', { prompt: 'hello' }, { who: 'mallory' }),
        await watch(`/v1/runs/${runId}`, undefined, { who: 'mallory' }),
      ]) {
        expect(response.status).toBe(404);
        expect(response.headers.get('content-type')).toMatch(/problem\+json/);
        await response.body?.cancel();
      }
      await engine.ended(runId);
    });

    it('who is a member no more hears no further event; others do, and the run goes on', async () => {
      const file = join(engine.home, 'identity.json');
      const before = await readFile(file, 'utf8');
      const put = async (content: string) => {
        await writeFile(`${file}.new`, content, { mode: 0o600 });
        await rename(`${file}.new`, file);
      };
      const runId = await engine.run('waits');
      const [ada, ben] = (await Promise.all(
        (['ada', 'ben'] as const).map(async (who) => eventsOf(await watch(`/v1/runs/${runId}`, undefined, { who }))),
      )) as [AsyncGenerator<{ type: string }>, AsyncGenerator<{ type: string }>];
      for (const events of [ada, ben]) while ((await events.next()).value?.type !== 'call.proposed');
      try {
        const { people, ...rest } = JSON.parse(before) as { people: { id: string; spaces: object }[] };
        await put(JSON.stringify({ ...rest, people: people.map((p) => (p.id === 'ben' ? { ...p, spaces: {} } : p)) }));
        const [callId = ''] = await engine.calls(runId);
        await engine.as.policy.publish(verdictOn(await proposal(callId), 'deny'));
        expect((await allOf(ada)).map((e) => e.type)).toEqual(['call.denied', 'step', 'run.completed']);
        expect(await allOf(ben)).toEqual([]);
      } finally {
        await put(before);
      }
    });

    it('is told to no one who did not ask: JSON stays the answer', async () => {
      const started = await engine.ask('POST', '/v1/agents/helper/runs', { prompt: 'hello' }, { accept: '*/*' });
      expect(started).toMatchObject({ status: 202, body: { state: expect.stringMatching(/queued|running|ok/) } });
      await engine.ended(started.body['id'] as string);
    });
  });

  describe('cancel', () => {
    it('a queued run is cancelled at once, and never starts', async () => {
      const busy = await engine.run('thinks');
      await running(busy);
      const { conversationId } = (await engine.ask('GET', `/v1/runs/${busy}`)).body as { conversationId: string };
      const queued = await engine.run('hello', conversationId);
      expect(await cancel(queued)).toMatchObject({ status: 200, body: { state: 'cancelled', reason: 'cancelled' } });
      await engine.stored('run.completed', queued);
      await cancel(busy);
      await engine.ended(busy);
      expect(await engine.reader.last('run.started', 'acme', queued)).toBeNull();
    });

    it('a run in the middle of a round of the model is aborted, wherever it is played', async () => {
      const other = await engine.another();
      for (const at of [engine.app, other]) {
        const runId = await engine.run('thinks');
        await running(runId);
        const { status } = await engine.ask('POST', `/v1/runs/${runId}/cancel`, undefined, { at });
        expect(status).toBe(200);
        expect(await engine.ended(runId)).toMatchObject({ state: 'cancelled', reason: 'cancelled' });
      }
    });

    it('an effect under way is finished and reported; calls not yet proposed never are', async () => {
      slow = Promise.withResolvers();
      pressed = [];
      const runId = await engine.run('presses');
      const [first, second] = await engine.calls(runId, 2);
      await engine.as.policy.publish(verdictOn(await proposal(first as string), 'auto'));
      await eventually(() => pressed.length === 1, { what: 'the effect to begin' });
      await cancel(runId);
      slow.resolve();
      const { conversationId, state } = await engine.ended(runId);
      expect(state).toBe('cancelled');
      expect((await engine.stored('tool.executed', first as string)).event.data).toMatchObject({
        status: 'Ok',
        cancelled: true,
      });
      expect(pressed).toEqual([1]);
      for (const type of ['tool.proposed', 'tool.executed', 'tool.abandoned'] as const)
        expect(await engine.reader.last(type, 'acme', second as string)).toBeNull();
      const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
      expect(JSON.stringify(body)).toContain('pressed 1');
      expect(JSON.stringify(body)).toContain('the run was cancelled before this call began');
      const told = await allOf(eventsOf(await watch(`/v1/runs/${runId}`)));
      expect(told.filter((e) => e.type.startsWith('call.')).slice(-1)).toMatchObject([
        { type: 'call.denied', callId: second, reason: 'cancelled' },
      ]);
    });

    it('a proposal without a verdict is given up, and has no entry in the audit', async () => {
      const runId = await engine.run('waits');
      const [callId] = await engine.calls(runId, 1);
      const p = await proposal(callId as string);
      await cancel(runId);
      expect((await engine.ended(runId)).state).toBe('cancelled');
      expect((await engine.stored('tool.abandoned', callId as string)).event.data.reason).toBe('cancelled');
      await engine.as.policy.publish(verdictOn(p, 'auto'));
      expect(await engine.reader.last('tool.executed', 'acme', callId as string)).toBeNull();
    });

    it('is for who started the run, owners and admins', async () => {
      const mine = await engine.run('thinks', undefined, { who: 'ben' });
      expect((await cancel(mine, 'ben')).status).toBe(200);
      const adas = await engine.run('thinks');
      expect(await cancel(adas, 'ben')).toMatchObject({ status: 403, body: { code: 'auth.role-missing' } });
      expect((await cancel(adas, 'mallory')).status).toBe(404);
      expect((await cancel(newId())).status).toBe(404);
      expect((await cancel(adas, 'cleo')).status).toBe(200);
      for (const id of [mine, adas]) expect((await engine.ended(id)).state).toBe('cancelled');
    });

    it('again changes nothing; a run that ended in another way is a conflict', async () => {
      const runId = await engine.run('thinks');
      await cancel(runId);
      await engine.ended(runId);
      expect(await cancel(runId)).toMatchObject({ status: 200, body: { state: 'cancelled' } });
      const over = await engine.run('hello');
      await engine.ended(over);
      expect(await cancel(over)).toMatchObject({ status: 409, body: { code: 'engine.run-over', state: 'ok' } });
    });
  });
});
