import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Bus, EventPublisher, FactWaiter, newId, type Stored, StreamReader } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { words } from '../src/domain/words.js';
import { CallContent } from '../src/gate/content.js';
import { Effects } from '../src/gate/effects.js';
import { Gate } from '../src/gate/gate.js';
import { PolicyQuestion } from '../src/gate/policy-question.js';
import { Secrets } from '../src/secrets/secrets.js';
import { Calls } from '../src/store/calls.js';
import { Runs } from '../src/store/runs.js';
import { exactInteger } from '../src/tools/exact-integer.js';
import { ToolRegistry } from '../src/tools/registry.js';
import { defineAction, done, type Tool } from '../src/tools/tool.js';
import { startEngine, type TestEngine } from './engine.js';
import { approvalOf, verdictOn } from './events.js';
import { play, scriptOf } from './script.js';

const BIG = 9_007_199_254_740_993n;

describe('to the last digit, and to the last moment', () => {
  let engine: TestEngine;
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

  beforeAll(async () => {
    engine = await startEngine({
      extraTools: [ledger],
      tools: ['Ledger', 'FileRW'],
      script: scriptOf({
        post: play('Ledger', `{"action":"post","cents":${BIG}}`),
        late: play('FileRW', '{"action":"write","path":"late.txt","content":"x"}'),
      }),
      env: { STAGED_TIMEOUT_MS: '1' },
    });
  });
  afterAll(() => engine.stop());

  const proposed = async (prompt: string) => {
    const [callId] = await engine.calls(await engine.run(prompt));
    return engine.stored('tool.proposed', callId as string);
  };

  it.each(['auto', 'approve'] as const)(`pi#8943: a tool receives ${BIG} exactly (verdict %s)`, async (verdict) => {
    received.length = 0;
    const proposal = await proposed('post');
    await engine.as.policy.publish(verdictOn(proposal, verdict));
    if (verdict === 'approve') await engine.as.staging.publish(approvalOf(proposal));
    expect((await engine.stored('tool.executed', proposal.event.subject)).event.data.status).toBe('Ok');
    expect(received).toEqual([BIG]);
  });

  /** A waiter whose time is up in the very moment in which the verdict is stored. */
  class LateWaiter extends FactWaiter {
    override async waitFor(): Promise<null> {
      const [callId] = await eventually(async () => (this.calls.length > 0 ? this.calls : undefined));
      const proposal = await engine.stored('tool.proposed', callId as string);
      await engine.as.policy.publish(verdictOn(proposal, 'auto'));
      return null;
    }
    calls: string[] = [];
  }

  it('proposed → auto: a verdict at a lower sequence than the abandonment counts, and the call runs once', async () => {
    const of = <T>(type: abstract new (...args: never[]) => T) => engine.app.get(type as new () => T);
    // a run of this engine, held open by a verdict that nobody gives
    const open = await proposed('late');
    const run = await of(Runs).find(open.event.runid ?? '');
    if (!run) throw new Error('no run');

    const waiter = new LateWaiter(of(Bus), of(StreamReader));
    const gate = new Gate(
      of(ToolRegistry),
      of(Calls),
      of(CallContent),
      of(EventPublisher),
      of(StreamReader),
      waiter,
      of(Effects),
      of(PolicyQuestion),
      of(Secrets),
      { verdictMs: 1, stagedMs: 1 },
    );
    const callId = newId();
    waiter.calls.push(callId);
    const { conversationId, agent, model, source, principal } = open.event.data.call;
    const { told } = await gate.pass(
      {
        runId: run.run_id,
        spaceId: 'acme',
        provenance: { conversationId, agent, model, source, principal },
        tools: ['FileRW'],
        words: words.en,
        signal: new AbortController().signal,
        stillMine: async () => true,
      },
      {
        callId,
        providerCallId: 'p',
        tool: 'FileRW',
        input: '{"action":"write","path":"counted.txt","content":"x"}',
        step: 1,
        index: 0,
        providerExecuted: false,
      },
    );
    const seq = async (type: 'policy.decided' | 'tool.abandoned' | 'tool.started' | 'tool.executed') =>
      ((await engine.stored(type, callId)) as Stored).seq;
    expect(await seq('policy.decided')).toBeLessThan(await seq('tool.abandoned'));
    expect(told).toContain('Wrote');
    expect(await seq('tool.started')).toBeLessThan(await seq('tool.executed'));
    expect(existsSync(join(engine.workspace, 'counted.txt'))).toBe(true);
    await engine.as.policy.publish(verdictOn(open, 'deny'));
  });
});
