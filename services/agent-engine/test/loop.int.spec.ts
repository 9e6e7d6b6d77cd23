import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineAction, done, type Tool } from '../src/tools/tool.js';
import { startEngine, type TestEngine } from './engine.js';
import { verdictOn } from './events.js';
import { recordPrompts } from './prompts.js';
import { play, scriptOf, turn } from './script.js';

// What the loop does beyond one round after another: parallel reads, reminders, limits, long conversations, languages.

const look = (n: number) => ({ tool: 'Probe', arguments: `{"action":"look","n":${n}}` });
const mark = (n: number) => ({ tool: 'Probe', arguments: `{"action":"mark","n":${n}}` });
const write = play('FileRW', '{"action":"write","path":"never.txt","content":"x"}');

describe('the loop', () => {
  let engine: TestEngine;
  let prompts: ReturnType<typeof recordPrompts>;
  const probe = { now: 0, most: 0, open: Promise.withResolvers<void>() };

  const tool: Tool = {
    name: 'Probe',
    description: 'Waits until the test lets it go on.',
    actions: [
      defineAction({
        name: 'look',
        description: 'Reads.',
        hint: 'read',
        scope: 'user',
        executionClass: 'idempotent',
        schema: z.strictObject({ action: z.literal('look'), n: z.int() }),
        timeoutMs: 20_000,
        run: async ({ n }) => {
          probe.most = Math.max(probe.most, ++probe.now);
          await probe.open.promise;
          probe.now--;
          return done(`seen ${n}`);
        },
      }),
      defineAction({
        name: 'mark',
        description: 'Writes.',
        hint: 'write',
        scope: 'user',
        executionClass: 'at-most-once',
        schema: z.strictObject({ action: z.literal('mark'), n: z.int() }),
        timeoutMs: 20_000,
        run: async ({ n }) => done(`marked ${n}`),
      }),
    ],
  };

  beforeAll(async () => {
    prompts = recordPrompts();
    engine = await startEngine({
      tools: ['FileRW', 'Probe'],
      extraTools: [tool],
      agents: {
        frugal: ['maxTokens: 150'],
        brief: ['maxSteps: 2'],
        deutsch: ['language: de'],
        forgetful: ['compactAfterTokens: 120'],
      },
      env: { VERDICT_TIMEOUT_MS: '20000', STAGED_TIMEOUT_MS: '1' },
      script: scriptOf({
        'twelve reads': turn(Array.from({ length: 12 }, (_, n) => look(n))),
        'reads and a write': turn([look(0), mark(1), look(2)]),
        'three reads': turn([look(0), look(1), look(2)]),
        'two rounds': turn([look(0)]) + turn([look(1)]),
        stubborn: write + write + write,
        'one write': write,
        hello: '      - text: hello yourself\n',
        'tell me everything': `      - text: ${JSON.stringify(`It began so: ${'long '.repeat(120)}`)}\n`,
        'Summarise the conversation above.*': '      - text: SHORT OF IT\n',
        'spend .*': turn([look(0)]) + turn([look(1)]),
      }),
    });
  });
  afterAll(async () => {
    prompts.restore();
    await engine.stop();
  });

  const said = async (conversationId: string) => {
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    return body['turns'] as { role: string; text: string; runId: string }[];
  };
  const decide = async (
    callId: string,
    ...verdict: Parameters<typeof verdictOn> extends [unknown, ...infer R] ? R : never
  ) => engine.as.policy.publish(verdictOn(await engine.stored('tool.proposed', callId), ...verdict));
  const conversationOf = async (runId: string) =>
    (await engine.ask('GET', `/v1/runs/${runId}`)).body['conversationId'] as string;

  it('runs the calls of a round at once when all are reads, ten at most, and answers in their order', async () => {
    probe.open = Promise.withResolvers<void>();
    probe.most = 0;
    const runId = await engine.run('twelve reads');
    const calls = await engine.calls(runId, 12);
    const decided = Promise.all(calls.map((id) => decide(id, 'auto')));
    await eventually(() => probe.now === 10, { what: 'ten reads at once' });
    expect(await engine.reader.last('tool.proposed', 'acme', calls[10] as string)).toBeNull();
    probe.open.resolve();
    await decided;
    const { conversationId, state } = await engine.ended(runId);
    expect(state).toBe('ok');
    expect(probe.most).toBe(10);
    const results = (await said(conversationId)).find((t) => t.role === 'tool')?.text.split('\n');
    expect(results).toEqual(Array.from({ length: 12 }, (_, n) => `seen ${n}`));
  });

  it('runs the calls of a round one after another when one of them is no read', async () => {
    probe.open = Promise.withResolvers<void>();
    probe.open.resolve();
    const runId = await engine.run('reads and a write');
    const calls = await engine.calls(runId, 3);
    for (const [i, id] of calls.entries()) {
      await engine.stored('tool.proposed', id);
      for (const later of calls.slice(i + 1))
        expect(await engine.reader.last('tool.proposed', 'acme', later)).toBeNull();
      await decide(id, 'auto');
    }
    const { conversationId } = await engine.ended(runId);
    expect((await said(conversationId)).find((t) => t.role === 'tool')?.text).toBe('seen 0\nmarked 1\nseen 2');
  });

  it('answers every read of a lost run, so that its conversation goes on', async () => {
    const runId = await engine.run('three reads');
    const calls = await engine.calls(runId, 3);
    await Promise.all(calls.map((id) => engine.stored('tool.proposed', id)));
    await engine.db
      .updateTable('runs')
      .set({ engine: 'gone', heartbeat_at: new Date(0) })
      .where('run_id', '=', runId)
      .execute();
    const { conversationId, state } = await engine.ended(runId);
    expect(state).toBe('interrupted');
    expect((await said(conversationId)).at(-1)?.text.match(/Interrupted/g)).toHaveLength(3);
    for (const id of calls) {
      expect((await engine.stored('tool.abandoned', id)).event.data.reason).toBe('engine-lost');
      expect(await engine.reader.last('tool.executed', 'acme', id)).toBeNull();
    }
    expect((await engine.ended(await engine.run('hello', conversationId))).state).toBe('ok');
    const [prompt] = prompts.holding('hello').slice(-1);
    for (const n of [0, 1, 2]) expect(prompt).toContain(`result call_0_${n} Interrupted`);
  });

  it('gives the policy’s reminder and its flags to the next round alone, and keeps them nowhere', async () => {
    const before = prompts.all.length;
    const runId = await engine.run('two rounds');
    const [first] = await engine.calls(runId, 1);
    await decide(first as string, 'auto', { flags: ['injection-marker'], reminder: 'Mind what the policy says.' });
    const [, second] = await engine.calls(runId, 2);
    await decide(second as string, 'auto');
    const { conversationId } = await engine.ended(runId);
    const rounds = prompts.all.slice(before).map((p) => p.prompt);
    expect(rounds).toHaveLength(3);
    const lasts = rounds.map((r) => JSON.stringify(r.at(-1)));
    expect(lasts[1]).toContain('Mind what the policy says.');
    expect(lasts[1]).toContain('injection-marker');
    for (const r of [rounds[0], rounds[2]]) {
      expect(JSON.stringify(r)).not.toContain('Mind what the policy says.');
      expect(JSON.stringify(r)).not.toContain('injection-marker');
    }
    const turns = JSON.stringify(await said(conversationId));
    expect(turns).not.toContain('Mind what the policy says.');
    expect(turns).not.toContain('injection-marker');
    expect(turns).not.toContain('Reminders from the system');
  });

  it('reminds a model that asks for the same refused call twice, and refuses it the third time unproposed', async () => {
    const before = prompts.all.length;
    const runId = await engine.run('stubborn');
    for (const n of [1, 2]) {
      const calls = await engine.calls(runId, n);
      await decide(calls[n - 1] as string, 'deny', { reason: 'destructive-not-allowed' });
    }
    const [, , third] = await engine.calls(runId, 3);
    const { conversationId, state } = await engine.ended(runId);
    expect(state).toBe('ok');
    expect(await engine.reader.last('tool.proposed', 'acme', third as string)).toBeNull();
    expect((await engine.stored('tool.executed', third as string)).event.data).toMatchObject({
      status: 'Error',
      reason: 'tool.repeated',
    });
    const reminded = prompts.all
      .slice(before)
      .map(({ prompt }) => JSON.stringify(prompt).includes('the very same call of FileRW 2 times'));
    expect(reminded).toEqual([false, false, true, false]);
    const turns = await said(conversationId);
    expect(turns.findLast((t) => t.role === 'tool')?.text).toContain('was not even proposed');
    expect(JSON.stringify(turns)).not.toContain('the very same call of FileRW');
  });

  it('ends a run after the round that crossed its token budget, and says so; warns when it is nearly used', async () => {
    probe.open = Promise.withResolvers<void>();
    probe.open.resolve();
    // about 130 tokens of prompt: the first round alone uses more than four fifths of the budget, the second crosses it
    const prompt = `spend ${'x'.repeat(470)}`;
    const before = prompts.all.length;
    const runId = await engine.run(prompt, undefined, { agent: 'frugal' });
    const [first] = await engine.calls(runId, 1);
    await decide(first as string, 'auto');
    const [, second] = await engine.calls(runId, 2);
    await decide(second as string, 'auto');
    const ended = await engine.ended(runId);
    expect(ended).toMatchObject({ state: 'failed', reason: 'token-budget' });
    expect(ended.result).toMatch(/has used \d+ tokens, and its budget is 150/);
    expect((await engine.stored('run.completed', runId)).event.data).toMatchObject({ status: 'failed', steps: 2 });
    // the round that crossed it was finished: no call of it is left without an answer
    expect((await said(ended.conversationId)).at(-1)).toMatchObject({ role: 'tool', text: 'seen 1' });
    const warned = prompts.all.slice(before).map(({ prompt: p }) => JSON.stringify(p).includes('of the 150 tokens'));
    expect(warned).toEqual([false, true]);
  });

  it('ends a run after its last step, and says so; warns in the last round', async () => {
    probe.open = Promise.withResolvers<void>();
    probe.open.resolve();
    const before = prompts.all.length;
    const runId = await engine.run('two rounds', undefined, { agent: 'brief' });
    for (const n of [1, 2]) await decide((await engine.calls(runId, n))[n - 1] as string, 'auto');
    expect(await engine.ended(runId)).toMatchObject({
      state: 'failed',
      reason: 'step-limit',
      result: expect.stringContaining('2 steps'),
    });
    const warned = prompts.all.slice(before).map(({ prompt: p }) => JSON.stringify(p).includes('last of your 2 steps'));
    expect(warned).toEqual([false, true]);
  });

  it('tells an agent in its language', async () => {
    const runId = await engine.run('one write', undefined, { agent: 'deutsch' });
    const [callId] = await engine.calls(runId, 1);
    await decide(callId as string, 'deny', { reason: 'destructive-not-allowed' });
    const { conversationId } = await engine.ended(runId);
    expect(JSON.stringify(await said(conversationId))).toContain('Denied: destructive-not-allowed (Regel');
  });

  it('replaces the beginning of a long conversation by a summary, made once; every turn is kept', async () => {
    const agent = 'forgetful';
    const before = prompts.all.length;
    const first = await engine.ended(await engine.run('tell me everything', undefined, { agent }));
    const { conversationId } = first;
    const next = await engine.run('hello', conversationId, { agent });
    expect(await engine.ended(next)).toMatchObject({ state: 'ok', result: 'hello yourself' });
    await engine.ended(await engine.run('hello', conversationId, { agent }));

    const asked = prompts.all.slice(before);
    expect(asked).toHaveLength(4);
    const [, summing, then, later] = asked.map((p) => JSON.stringify(p));
    // a call of its own, without tools, whose transcript is text
    expect(asked[1]?.tools).toEqual([]);
    expect(summing).toContain('It began so');
    for (const p of [then, later]) {
      expect(p).toContain('SHORT OF IT');
      expect(p).not.toContain('It began so');
    }
    expect(then).toContain('first 2 messages were replaced by a summary');
    expect(later).not.toContain('were replaced by a summary');

    const turns = await said(conversationId);
    expect(turns.map((t) => t.role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant']);
    expect(turns[1]?.text).toContain('It began so');
    expect(JSON.stringify(turns)).not.toContain('SHORT OF IT');
    const rows = await engine.db
      .selectFrom('summaries')
      .selectAll()
      .where('conversation_id', '=', conversationId)
      .execute();
    expect(rows).toMatchObject([{ covers: 2, run_id: next }]);
    expect(rows[0]?.content).not.toContain('SHORT');
    // the summary has cost something, and the run says so
    const usage = (await engine.ask('GET', `/v1/runs/${next}`)).body['usage'] as { promptTokens: number };
    expect(usage.promptTokens).toBeGreaterThan(150);
  });

  it('paperclip#3432: plays the queued runs of a busy conversation in the order in which they came', async () => {
    const busy = await engine.run('one write');
    const conversationId = await conversationOf(busy);
    const queued: string[] = [];
    for (let i = 0; i < 5; i++) queued.push(await engine.run('hello', conversationId));
    const [callId] = await engine.calls(busy, 1);
    for (const id of queued) expect((await engine.ask('GET', `/v1/runs/${id}`)).body['state']).toBe('queued');
    await decide(callId as string, 'deny');
    await Promise.all([busy, ...queued].map((id) => engine.ended(id)));
    const order = (await said(conversationId)).filter((t) => t.role === 'user').map((t) => t.runId);
    expect(order).toEqual([busy, ...queued]);
  });
});
