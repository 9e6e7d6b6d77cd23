import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventData, HoldpointEvent, PolicyCheckReply, Verdict } from '@holdpoint/contracts';
import { newEvent, type Stored } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEngine, type TestEngine } from './engine.js';

// Charter section 6, the engine's rows, with policy and staging played by the test under their own accounts.

const call = (tool: string, args: string, text = '') =>
  `      - text: "${text}"\n        calls: [{ tool: ${JSON.stringify(tool)}, arguments: '${args.replaceAll("'", "''")}' }]\n`;
const script = (turns: Record<string, string>) =>
  `scripts:\n${Object.entries(turns)
    .map(([when, turn]) => `  - when: '^${when}$'\n    turns:\n${turn}      - text: finished\n`)
    .join('')}`;

describe('a call, row by row', () => {
  let engine: TestEngine;
  let answer: Partial<PolicyCheckReply> | null = {};

  beforeAll(async () => {
    engine = await startEngine({
      policy: () => answer,
      env: {
        VERDICT_TIMEOUT_MS: '400',
        STAGED_TIMEOUT_MS: '300',
        EXECUTION_LEASE_MS: '1000',
        APPROVAL_LAPSE_MS: '3600000',
      },
      script: script({
        write: call('FileRW', '{"action":"write","path":"a.txt","content":"hello"}'),
        'write two': call('FileRW', '{"action":"write","path":"two.txt","content":"hello"}'),
        read: call('FileRW', '{"action":"read","path":"given.txt"}'),
        'read nothing': call('FileRW', '{"action":"read","path":"absent.txt"}'),
        unknown: call('Bomb', '{"action":"go"}'),
        twice: call('FileRW', '{"action":"read","path":"a","path":"b"}'),
        unfit: call('FileRW', '{"action":"read"}'),
        late: call('FileRW', '{"action":"write","path":"late.txt","content":"hello"}'),
        frozen: call('FileRW', '{"action":"write","path":"frozen.txt","content":"exactly this"}'),
        'frozen lapsed': call('FileRW', '{"action":"write","path":"lapsed.txt","content":"x"}'),
        'frozen denied': call('FileRW', '{"action":"write","path":"denied.txt","content":"x"}'),
        'frozen changed': call('FileRW', '{"action":"write","path":"changed.txt","content":"x"}'),
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
    ['unfit', 'arguments.schema'],
  ])(
    '– → closed: arguments that do not parse or fit (%s) are an Error, and nothing is proposed',
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

  it('approved → closed: Denied when policy denies by now', async () => {
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

  it('approved → closed: Denied when the schema is another by now', async () => {
    const { callId, proposal } = await proposed('frozen changed');
    await decide(proposal, 'approve');
    const older = { ...proposal.event.data.call, schemaDigest: 'a'.repeat(64) };
    await release(proposal, { call: older });
    expect((await outcome(callId)).event.data).toMatchObject({ status: 'Denied', reason: 'frozen.changed' });
    expect(existsSync(join(engine.workspace, 'changed.txt'))).toBe(false);
  });

  it('approved: waits while policy does not answer, and goes on by itself', async () => {
    const { callId, proposal } = await proposed('frozen');
    await decide(proposal, 'approve');
    answer = null;
    await release(proposal);
    await eventually(
      async () =>
        (
          await engine.db
            .selectFrom('dead_letters' as 'runs')
            .select('run_id')
            .execute()
            .catch(() => [])
        ).length === 0,
    );
    expect(await engine.reader.last('tool.started', 'acme', callId)).toBeNull();
    answer = {};
    expect((await outcome(callId)).event.data.status).toBe('Ok');
  });

  it('a restart between proposal and verdict loses no call: the run is interrupted and the proposal given up', async () => {
    const { runId, callId } = await proposed('late');
    await engine.stored('tool.abandoned', callId);
    await engine.restart();
    expect((await engine.ended(runId)).state).toMatch(/ok|interrupted/);
  });
});

function verdictOn(p: Stored<'tool.proposed'>, verdict: Verdict, more: Partial<EventData<'policy.decided'>>) {
  return newEvent('policy.decided', {
    ...address(p.event),
    data: {
      call: p.event.data.call,
      verdict,
      reason: 'rule',
      rule: 'test',
      policyVersion: 'v1',
      mode: 'enforce',
      flags: [],
      proposalSeq: p.seq,
      ...more,
    },
  });
}

function approvalOf(p: Stored<'tool.proposed'>, more: Partial<EventData<'approval.decided'>>) {
  return newEvent('approval.decided', {
    ...address(p.event),
    data: {
      call: p.event.data.call,
      number: 1,
      decision: 'approved',
      by: { kind: 'person', id: 'ada' },
      decidedAt: new Date().toISOString(),
      reason: null,
      cause: 'person',
      policyVersion: 'v1',
      frozen: p.event.data.frozen,
      ...more,
    },
  });
}

const address = (e: HoldpointEvent) => ({
  spaceId: e.spaceid,
  entityId: e.subject,
  callId: e.subject,
  ...(e.runid === undefined ? {} : { runId: e.runid }),
});
