import { readdir } from 'node:fs/promises';
import { checkStream, type HoldpointEvent } from '@holdpoint/contracts';
import { Bus, EventPublisher, FactWaiter, newId, type Stored, StreamReader } from '@holdpoint/eventing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { words } from '../src/domain/words.js';
import { CallContent } from '../src/gate/content.js';
import { Effects } from '../src/gate/effects.js';
import { Gate } from '../src/gate/gate.js';
import { PolicyQuestion } from '../src/gate/policy-question.js';
import { Secrets } from '../src/secrets/secrets.js';
import { Calls } from '../src/store/calls.js';
import { ToolRegistry } from '../src/tools/registry.js';
import { startEngine, type TestEngine } from './engine.js';
import { verdictOn } from './events.js';
import { scriptOf, turn } from './script.js';

// Guarantee G7: no stored verdict, no execution.

const CALLS = 20;

describe('G7, the engine: fail closed', () => {
  let engine: TestEngine;

  beforeAll(async () => {
    const calls = Array.from({ length: CALLS }, (_, i) => ({
      tool: 'FileRW',
      arguments: `{"action":"write","path":"f${i}.txt","content":"x"}`,
    }));
    engine = await startEngine({ script: scriptOf({ go: turn(calls) }), env: { VERDICT_TIMEOUT_MS: '50' } });
  });
  afterAll(() => engine.stop());

  const stream = async () => {
    const messages = [];
    for (let seq = 1; ; seq++) {
      const stored = await engine.reader.bySeq(seq);
      if (!stored) return messages;
      messages.push(stored);
    }
  };

  it(`policy says nothing: of ${CALLS} calls 0 run, and the model is told`, async () => {
    const runId = await engine.run('go');
    const { conversationId, state } = await engine.ended(runId);
    expect(state).toBe('ok');
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    expect(JSON.stringify(body).match(/no decision arrived in time/g)).toHaveLength(CALLS);
    expect(await readdir(engine.workspace)).toEqual([]);
    expect(checkStream(await stream()).violations).toEqual([]);
  });

  it('mutant: an engine that believes a verdict which is not stored executes, and the check turns red', async () => {
    const of = <T>(type: abstract new (...args: never[]) => T) => engine.app.get(type as new () => T);
    const reader = of(StreamReader);
    /** Takes the word of a message for the fact. */
    class Credulous extends FactWaiter {
      override async waitFor(): Promise<never> {
        const [proposal] = (await stream()).slice(-1) as [Stored<'tool.proposed'>];
        const event = verdictOn(proposal, 'auto') as HoldpointEvent<'policy.decided'>;
        return { ...proposal, seq: proposal.seq + 1, event } as never;
      }
    }
    const gate = new Gate(
      of(ToolRegistry),
      of(Calls),
      of(CallContent),
      of(EventPublisher),
      reader,
      new Credulous(of(Bus), reader),
      of(Effects),
      of(PolicyQuestion),
      of(Secrets),
      { verdictMs: 1, stagedMs: 1 },
    );
    const known = (await stream()).find((m) => m.event.type === 'run.queued');
    const { conversationId, agent, model, source, principal } = (known as Stored<'run.queued'>).event.data;
    await gate.pass(
      {
        runId: known?.event.runid ?? '',
        spaceId: 'acme',
        provenance: { conversationId, agent, model, source, principal },
        tools: ['FileRW'],
        words: words.en,
        signal: new AbortController().signal,
        stillMine: async () => true,
      },
      {
        callId: newId(),
        providerCallId: 'p',
        tool: 'FileRW',
        input: '{"action":"write","path":"believed.txt","content":"x"}',
        step: 2,
        index: 0,
        providerExecuted: false,
      },
    );
    expect(await readdir(engine.workspace)).toEqual(['believed.txt']);
    expect(checkStream(await stream()).violations).not.toEqual([]);
  });
});
