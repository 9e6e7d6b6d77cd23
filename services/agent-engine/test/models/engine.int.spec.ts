import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Verdict } from '@holdpoint/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { exactInteger } from '../../src/tools/exact-integer.js';
import { defineAction, done, type Tool } from '../../src/tools/tool.js';
import { startEngine, type TestEngine } from '../engine.js';
import { verdictOn } from '../events.js';
import { KEY } from './ask.js';
import { breakOff, type Endpoint, say, startEndpoint, status } from './endpoint.js';
import { anthropic, openai, type Wire } from './wire.js';

const received: unknown[] = [];
const ledger: Tool = {
  name: 'Ledger',
  description: 'Keeps what it is given.',
  actions: [
    defineAction({
      name: 'post',
      description: 'Posts an amount.',
      hint: 'write',
      scope: 'user',
      executionClass: 'at-most-once',
      schema: z.strictObject({ action: z.literal('post'), cents: exactInteger({ min: 0, max: 2n ** 63n }) }),
      timeoutMs: 1_000,
      run: async ({ cents }) => {
        received.push(cents);
        return done('posted');
      },
    }),
  ],
};
const model = { openai: 'openai/gpt-4o-mini', anthropic: 'anthropic/claude-haiku-4-5' };
const post = (id: string, ...fragments: string[]) => ({ id, tool: 'Ledger', fragments });

describe.each([openai, anthropic])('$format: a model in the running engine', (wire: Wire) => {
  let engine: TestEngine;
  let endpoint: Endpoint;
  beforeAll(async () => {
    endpoint = await startEndpoint();
    const at = wire.format.toUpperCase();
    engine = await startEngine({
      model: model[wire.format],
      extraTools: [ledger],
      tools: ['Ledger', 'FileRW'],
      env: {
        [`${at}_BASE_URL`]: endpoint.url,
        [`${at}_API_KEY`]: KEY,
        MODEL_ATTEMPTS: '2',
        MODEL_RETRY_MS: '1',
        STAGED_TIMEOUT_MS: '1',
      },
    });
  });
  afterAll(async () => {
    await engine.stop();
    endpoint.stop();
  });
  const decide = async (callId: string, verdict: Verdict) =>
    engine.as.policy.publish(verdictOn(await engine.stored('tool.proposed', callId), verdict));
  const told = () => wire.history(endpoint.requests.at(-1)?.body ?? '').results.map((r) => r.text);

  it('a tool receives 9007199254740993 exactly; the receipt counts tokens and cost, and names the model', async () => {
    received.length = 0;
    const usage = { prompt: 1_000, completion: 10, cached: 400 };
    endpoint.answer(
      say(
        wire,
        { text: 'I post.', calls: [post('c1', '{"action":"post","ce', 'nts":9007199254', '740993}')], usage },
        [9],
      ),
      say(wire, { text: 'Posted.', usage: { prompt: 1_100, completion: 5 } }),
    );
    const runId = await engine.run('Post it.');
    const [callId = ''] = await engine.calls(runId);
    await decide(callId, 'auto');
    expect(await engine.ended(runId)).toMatchObject({ state: 'ok', result: 'Posted.' });
    expect(received).toEqual([9007199254740993n]);
    expect(told()).toEqual(['posted']);
    expect(wire.history(endpoint.requests.at(-1)?.body ?? '').calls).toEqual([
      { id: 'c1', args: '{"action":"post","cents":9007199254740993}' },
    ]);

    const { data } = (await engine.stored('run.completed', runId)).event;
    expect(data).toMatchObject({
      model: model[wire.format],
      usage: { promptTokens: 2_100, completionTokens: 15, cachedTokens: 400 },
      cost: { amount: wire.format === 'openai' ? '0.000294' : '0.001815', known: true },
    });
  });

  it('a key twice is refused by the scanner, and the model is told; nothing is proposed', async () => {
    endpoint.answer(
      say(wire, { calls: [post('c1', '{"action":"post","cents":1,"cents":2}')] }),
      say(wire, { text: 'Well.' }),
    );
    const runId = await engine.run('Twice.');
    const [callId = ''] = await engine.calls(runId);
    expect((await engine.stored('tool.executed', callId)).event.data).toMatchObject({
      status: 'Error',
      reason: 'arguments.duplicate-key',
    });
    await engine.ended(runId);
    expect(told()[0]).toContain('the same key twice');
    expect(await engine.reader.last('tool.proposed', 'acme', callId)).toBeNull();
  });

  it('empty arguments are refused: every declared action has a field (aw-01)', async () => {
    endpoint.answer(say(wire, { calls: [post('c1')] }), say(wire, { text: 'Well.' }));
    const runId = await engine.run('Nothing.');
    const [callId = ''] = await engine.calls(runId);
    expect((await engine.stored('tool.executed', callId)).event.data).toMatchObject({ reason: 'arguments.empty' });
    await engine.ended(runId);
  });

  it('a call in an answer that was stopped at the limit is refused', async () => {
    endpoint.answer(
      say(wire, { calls: [post('c1', '{"action":"post","cents":1}')], finish: 'length' }),
      say(wire, { text: 'Well.' }),
    );
    const runId = await engine.run('Too long.');
    const [callId = ''] = await engine.calls(runId);
    expect((await engine.stored('tool.executed', callId)).event.data).toMatchObject({ reason: 'arguments.cut-off' });
    await engine.ended(runId);
    expect(told()[0]).toContain('stopped before it was complete');
  });

  it('ids that begin anew in each round: every result goes to its own call (aw-79)', async () => {
    const write = (n: number) => ({
      id: 'call_0',
      tool: 'FileRW',
      fragments: [`{"action":"write","path":"${n}","content":"x"}`],
    });
    endpoint.answer(say(wire, { calls: [write(1)] }), say(wire, { calls: [write(2)] }), say(wire, { text: 'Both.' }));
    const runId = await engine.run('Two rounds.');
    const [first = ''] = await engine.calls(runId);
    await decide(first, 'auto');
    const [, second = ''] = await engine.calls(runId, 2);
    await decide(second, 'deny');
    await engine.ended(runId);
    const { calls, results } = wire.history(endpoint.requests.at(-1)?.body ?? '');
    expect(calls.map((c) => c.id)).toEqual(['call_0', second]);
    expect(results.map((r) => [r.id, r.text.split(/[ :]/)[0]])).toEqual([
      ['call_0', 'Wrote'],
      [second, 'Denied'],
    ]);
  });

  it('a stream that breaks inside a call: nothing of it is acted upon, the round is asked for again', async () => {
    const call = { id: 'c1', tool: 'FileRW', fragments: ['{"action":"write","path":"half.txt","content":"x"}'] };
    endpoint.answer(breakOff(wire, { calls: [call] }), say(wire, { text: 'I leave it.' }));
    const runId = await engine.run('Half.');
    expect(await engine.ended(runId)).toMatchObject({ state: 'ok', result: 'I leave it.' });
    expect(await engine.calls(runId, 0)).toEqual([]);
    expect(existsSync(join(engine.workspace, 'half.txt'))).toBe(false);
    // what the broken attempt cost is counted by nobody
    expect((await engine.stored('run.completed', runId)).event.data.cost.known).toBe(false);
  });

  it.each([
    ['model.unavailable', () => status(500), 'Start another run once it answers', true],
    [
      'model.refused',
      () => status(401, JSON.stringify({ error: { message: `bad key ${KEY}` } })),
      'Check the agent',
      true,
    ],
    [
      'model.cut-off',
      () => say(wire, { text: 'I was ab', finish: null }),
      'Start another run; if this comes again',
      false,
    ],
  ] as const)('the run fails with %s and says what to do', async (reason, answer, advice, costKnown) => {
    endpoint.answer(answer());
    const runId = await engine.run('Fail.');
    const ended = await engine.ended(runId);
    expect(ended).toMatchObject({ state: 'failed', reason });
    expect(ended.result).toContain(advice);
    expect(ended.result).not.toContain(KEY);
    const { data } = (await engine.stored('run.completed', runId)).event;
    expect(data).toMatchObject({ status: 'failed', reason, cost: { known: costKnown } });
    expect(JSON.stringify(data)).not.toContain(KEY);
  });

  it('the model that plays is the one that is named, also when it is another than at queueing', async () => {
    endpoint.answer(
      async (response) => {
        await held.promise;
        await say(wire, { text: 'One.' })(response, { path: '', headers: {}, body: '' });
      },
      say(wire, { text: 'Two.' }),
    );
    const held = Promise.withResolvers<void>();
    const first = await engine.run('One.');
    const conversationId = ((await engine.ask('GET', `/v1/runs/${first}`)).body as { conversationId: string })
      .conversationId;
    const second = await engine.run('Two.', conversationId);
    await engine.db.updateTable('runs').set({ model: 'openai/earlier' }).where('run_id', '=', second).execute();
    held.resolve();
    await engine.ended(second);
    expect((await engine.stored('run.started', second)).event.data.model).toBe(model[wire.format]);
  });
});
