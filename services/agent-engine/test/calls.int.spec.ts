import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventData, PolicyCheckReply, Verdict } from '@holdpoint/contracts';
import type { Stored } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AGENTS } from '../src/agents.js';
import type { AgentDeclaration } from '../src/config.js';
import { startEngine, type TestEngine } from './engine.js';
import { approvalOf, verdictOn } from './events.js';
import { play, scriptOf } from './script.js';

// Charter section 6, the engine's rows, with policy and staging played by the test under their own accounts.

describe('a call, row by row', () => {
  let engine: TestEngine;
  let answer: Partial<PolicyCheckReply> | null = {};
  let asked = 0;

  beforeAll(async () => {
    engine = await startEngine({
      policy: () => {
        asked += 1;
        return answer;
      },
      env: {
        VERDICT_TIMEOUT_MS: '400',
        STAGED_TIMEOUT_MS: '300',
        EXECUTION_LEASE_MS: '1000',
        APPROVAL_LAPSE_MS: '3600000',
      },
      script: scriptOf({
        write: play('FileRW', '{"action":"write","path":"a.txt","content":"hello"}'),
        'write two': play('FileRW', '{"action":"write","path":"two.txt","content":"hello"}'),
        read: play('FileRW', '{"action":"read","path":"given.txt"}'),
        'read nothing': play('FileRW', '{"action":"read","path":"absent.txt"}'),
        unknown: play('Bomb', '{"action":"go"}'),
        twice: play('FileRW', '{"action":"read","path":"a","path":"b"}'),
        'two actions': play('FileRW', '{"action":"read","path":"a","action":"delete"}'),
        'spelled otherwise': play('FileRW', '{"action":"DELETE ","path":"a"}'),
        'not text': play('FileRW', '{"action":["delete"],"path":"a"}'),
        unfit: play('FileRW', '{"action":"read"}'),
        late: play('FileRW', '{"action":"write","path":"late.txt","content":"hello"}'),
        frozen: play('FileRW', '{"action":"write","path":"frozen.txt","content":"exactly this"}'),
        'frozen lapsed': play('FileRW', '{"action":"write","path":"lapsed.txt","content":"x"}'),
        'frozen taken': play('FileRW', '{"action":"write","path":"taken.txt","content":"x"}'),
        'frozen denied': play('FileRW', '{"action":"write","path":"denied.txt","content":"x"}'),
        'frozen changed': play('FileRW', '{"action":"write","path":"changed.txt","content":"x"}'),
      }),
    });
    await writeFile(join(engine.workspace, 'given.txt'), 'what stands there');
  });
  afterAll(() => engine.stop());

  const proposed = async (prompt: string) => {
    const runId = await engine.run(prompt);
    const [callId] = await engine.calls(runId);
    return { runId, callId: callId as string, proposal: await engine.stored('tool.proposed', callId as string) };
  };
  const decide = (p: Stored<'tool.proposed'>, verdict: Verdict, more: Partial<EventData<'policy.decided'>> = {}) =>
    engine.as.policy.publish(verdictOn(p, verdict, more));
  const release = (p: Stored<'tool.proposed'>, more: Partial<EventData<'approval.decided'>> = {}) =>
    engine.as.staging.publish(approvalOf(p, more));
  const outcome = (callId: string) => engine.stored('tool.executed', callId);

  it('– → closed: an unknown tool is NotFound, and nothing is proposed', async () => {
    const runId = await engine.run('unknown');
    const [callId] = await engine.calls(runId);
    expect((await outcome(callId as string)).event.data).toMatchObject({
      status: 'NotFound',
      reason: 'tool.not-found',
    });
    expect(await engine.reader.last('tool.proposed', 'acme', callId as string)).toBeNull();
    expect((await engine.ended(runId)).state).toBe('ok');
  });

  it.each([
    ['twice', 'arguments.duplicate-key'],
    ['two actions', 'arguments.duplicate-key'],
    ['spelled otherwise', 'arguments.action-unknown'],
    ['not text', 'arguments.action-unknown'],
    ['unfit', 'arguments.schema'],
  ])(
    'pipefy/ai-toolkit#630: – → closed: arguments that do not parse or fit (%s) are an Error, and nothing is proposed',
    async (prompt, reason) => {
      const runId = await engine.run(prompt);
      const [callId] = await engine.calls(runId);
      expect((await outcome(callId as string)).event.data).toMatchObject({ status: 'Error', reason });
      expect(await engine.reader.last('tool.proposed', 'acme', callId as string)).toBeNull();
    },
  );

  it('proposed → abandoned: no verdict in time; the verdict that comes later executes nothing', async () => {
    const { runId, callId, proposal } = await proposed('late');
    const abandoned = await engine.stored('tool.abandoned', callId);
    expect(abandoned.event.data.reason).toBe('no-verdict');
    await decide(proposal, 'auto');
    expect((await engine.ended(runId)).state).toBe('ok');
    expect(await engine.reader.last('tool.started', 'acme', callId)).toBeNull();
    expect(existsSync(join(engine.workspace, 'late.txt'))).toBe(false);
  });

  it('denied → closed: Denied, told with rule and reason', async () => {
    const { runId, callId, proposal } = await proposed('write');
    await decide(proposal, 'deny', { reason: 'destructive-not-allowed' });
    expect((await outcome(callId)).event.data).toMatchObject({
      status: 'Denied',
      reason: 'destructive-not-allowed',
      held: false,
    });
    const { conversationId } = await engine.ended(runId);
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    expect(JSON.stringify(body)).toContain('Denied: destructive-not-allowed (rule');
  });

  it('auto, a read → closed: Ok without a claim', async () => {
    const { callId, proposal } = await proposed('read');
    await decide(proposal, 'auto');
    expect((await outcome(callId)).event.data.status).toBe('Ok');
    expect(await engine.reader.last('tool.started', 'acme', callId)).toBeNull();
  });

  it('auto, a read → closed: Error', async () => {
    const { callId, proposal } = await proposed('read nothing');
    await decide(proposal, 'auto');
    expect((await outcome(callId)).event.data.status).toBe('Error');
  });

  it('auto → executing → closed: the claim is stored before the effect', async () => {
    const { callId, proposal } = await proposed('write two');
    await decide(proposal, 'auto');
    const executed = await outcome(callId);
    const started = await engine.stored('tool.started', callId);
    expect(executed.event.data).toMatchObject({ status: 'Ok', held: false, attempt: 1 });
    expect(started.seq).toBeLessThan(executed.seq);
    expect(await readFile(join(engine.workspace, 'two.txt'), 'utf8')).toBe('hello');
  });

  it.each([
    ['policy.changed', { verdict: 'approve' as const }],
    ['policy.changed', { verdict: 'deny' as const }],
    ['halted', { halted: true }],
    ['policy.unreachable', null],
  ])('auto → closed: Denied as %s when the second answer is %j', async (reason, second) => {
    answer = second;
    try {
      const { callId, proposal } = await proposed('write');
      await decide(proposal, 'auto');
      expect((await outcome(callId)).event.data).toMatchObject({ status: 'Denied', reason });
      expect(existsSync(join(engine.workspace, 'a.txt'))).toBe(false);
    } finally {
      answer = {};
    }
  });

  it('auto → closed: a verdict on other bytes is no verdict', async () => {
    const { runId, callId, proposal } = await proposed('write');
    const forged = { ...proposal.event.data.call, digest: '0'.repeat(64) };
    await decide(proposal, 'auto', { call: forged });
    await engine.ended(runId);
    expect(await engine.reader.last('tool.started', 'acme', callId)).toBeNull();
  });

  it('to-stage: the run ends normally with the call submitted', async () => {
    const { runId, callId, proposal } = await proposed('frozen');
    await decide(proposal, 'approve');
    const { conversationId, state } = await engine.ended(runId);
    expect(state).toBe('ok');
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    expect(JSON.stringify(body)).toContain(`Submitted for approval (${callId})`);
    expect(existsSync(join(engine.workspace, 'frozen.txt'))).toBe(false);
  });

  it('approved → executing → closed: exactly the frozen bytes, once', async () => {
    const { callId, proposal } = await proposed('frozen');
    await decide(proposal, 'approve');
    await release(proposal);
    expect((await outcome(callId)).event.data).toMatchObject({ status: 'Ok', held: true, attempt: 1 });
    expect(await readFile(join(engine.workspace, 'frozen.txt'), 'utf8')).toBe('exactly this');
  });

  it('approved → closed: Denied when the approval has lapsed', async () => {
    const { callId, proposal } = await proposed('frozen lapsed');
    await decide(proposal, 'approve');
    await release(proposal, { decidedAt: new Date(Date.now() - 3_600_001).toISOString() });
    expect((await outcome(callId)).event.data).toMatchObject({
      status: 'Denied',
      held: true,
      reason: 'approval.lapsed',
    });
    expect(existsSync(join(engine.workspace, 'lapsed.txt'))).toBe(false);
  });

  it('cordum#204: approved → closed: Denied when policy denies by now', async () => {
    answer = { verdict: 'deny' };
    try {
      const { callId, proposal } = await proposed('frozen denied');
      await decide(proposal, 'approve');
      await release(proposal);
      expect((await outcome(callId)).event.data).toMatchObject({ status: 'Denied', reason: 'policy.denied' });
      expect(existsSync(join(engine.workspace, 'denied.txt'))).toBe(false);
    } finally {
      answer = {};
    }
  });

  it('openai-agents-python#4145: approved → closed: Denied when the tool was taken from the agent', async () => {
    const { callId, proposal } = await proposed('frozen taken');
    await decide(proposal, 'approve');
    const agents = engine.app.get<Map<string, AgentDeclaration>>(AGENTS);
    const helper = agents.get('helper') as AgentDeclaration;
    agents.set('helper', { ...helper, tools: ['Mail'] });
    try {
      await release(proposal);
      expect((await outcome(callId)).event.data).toMatchObject({ status: 'Denied', reason: 'tool.not-assigned' });
      expect(existsSync(join(engine.workspace, 'taken.txt'))).toBe(false);
    } finally {
      agents.set('helper', helper);
    }
  });

  it('extra-org/extra#139: approved → closed: Denied when it is not the very call that was proposed', async () => {
    const { callId, proposal } = await proposed('frozen changed');
    await decide(proposal, 'approve');
    const older = { ...proposal.event.data.call, schemaDigest: 'a'.repeat(64) };
    await release(proposal, { call: older });
    expect((await outcome(callId)).event.data).toMatchObject({ status: 'Denied', reason: 'frozen.changed' });
    expect(existsSync(join(engine.workspace, 'changed.txt'))).toBe(false);
  });

  it('mastra#20487: approved: waits while policy does not answer, and goes on by itself', async () => {
    const { callId, proposal } = await proposed('frozen');
    await decide(proposal, 'approve');
    answer = null;
    asked = 0;
    await release(proposal);
    await eventually(() => asked > 1, { what: 'policy to be asked more than once' });
    expect(await engine.reader.last('tool.started', 'acme', callId)).toBeNull();
    answer = {};
    expect((await outcome(callId)).event.data.status).toBe('Ok');
    expect(await engine.deadLetters()).toBe(0);
  });
});
