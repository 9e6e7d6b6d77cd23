import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type EventType, StreamCheck } from '@holdpoint/contracts';
import type { Stored } from '@holdpoint/eventing';
import { DEEP, eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { startEngine, type TestEngine } from '../engine.js';
import { approvalOf, stagingOf, verdictOn } from '../events.js';
import { scriptOf, turn } from '../script.js';
import { startRemoteEnd, type Trouble } from './remote-end.js';

// Charter section 6, "executing → new attempt" and "executing → in-doubt", and guarantee G4: each class, with the engine
// killed and frozen at each side of the effect, and with a remote end that says nothing. Engines are processes; what
// happened is counted at the remote end. `npm test` samples; `npm run test:deep` plays all.

const CLASSES = ['idempotent', 'keyed', 'reconcilable', 'once'] as const;
type Class = (typeof CLASSES)[number];
const ATTEMPTS = 3;
const PATIENCE = { timeoutMs: 40_000 };
const args = (action: string) => ({ tool: 'Remote', arguments: `{"action":"${action}","note":"9007199254740993"}` });

interface Engine {
  child: ChildProcess;
  url: string;
}

describe('attempts', () => {
  let engine: TestEngine;
  let remote: Awaited<ReturnType<typeof startRemoteEnd>>;
  let running: Engine;
  let number = 0;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    remote = await startRemoteEnd();
    engine = await startEngine({
      elsewhere: true,
      tools: ['Remote'],
      script: scriptOf({
        all: turn(CLASSES.map(args)),
        ...Object.fromEntries(CLASSES.map((c) => [c, turn([args(c)])])),
      }),
      env: {
        STAGED_TIMEOUT_MS: '1',
        EXECUTION_LEASE_MS: '1000',
        EXECUTION_ATTEMPTS: String(ATTEMPTS),
        ATTEMPT_BACKOFF_MS: '100',
      },
    });
    running = await start();
  }, 60_000);
  afterAll(async () => {
    remote?.letGo();
    for (const child of children) child.kill('SIGKILL');
    await engine?.stop();
    remote?.close();
  });

  const start = async (env: Record<string, string> = {}): Promise<Engine> => {
    const child = fork(join(import.meta.dirname, 'engine-process.ts'), {
      env: { PATH: process.env['PATH'], ...engine.env, REMOTE_URL: remote.url, ...env },
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    children.push(child);
    const [message] = (await once(child, 'message')) as [{ url: string }];
    engine.at(message.url);
    return { child, url: message.url };
  };
  const kill = async ({ child }: Engine) => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  /** Ends an engine after everything that it still had to say. */
  const drain = async ({ child }: Engine) => {
    const gone = once(child, 'exit');
    child.send('close');
    expect(await gone).toEqual([0, null]);
  };

  /** Calls that were proposed, judged and, if held, staged. */
  const propose = async (prompt: string, verdict: 'approve' | 'auto', count: number) => {
    const runId = await engine.run(prompt);
    const proposals: Stored<'tool.proposed'>[] = [];
    for (let i = 0; i < count; i++) {
      const callId = (await engine.calls(runId, i + 1))[i] as string;
      proposals.push(await hold(callId, verdict));
    }
    if (verdict === 'approve') await engine.ended(runId);
    return { runId, proposals };
  };
  const hold = async (callId: string, verdict: 'approve' | 'auto') => {
    const proposal = await engine.stored('tool.proposed', callId);
    await engine.as.policy.publish(verdictOn(proposal, verdict));
    if (verdict === 'approve') {
      number += 1;
      numbers.set(callId, number);
      await engine.as.staging.publish(stagingOf(proposal, number));
    }
    return proposal;
  };
  const numbers = new Map<string, number>();
  const release = (p: Stored<'tool.proposed'>) =>
    engine.as.staging.publish(approvalOf(p, { number: numbers.get(p.event.subject) ?? 0 }));

  /** Four held calls, one of each class. */
  const held = async (): Promise<Record<Class, string>> => {
    const { proposals } = await propose('all', 'approve', CLASSES.length);
    await Promise.all(proposals.map(release));
    return Object.fromEntries(proposals.map((p, i) => [CLASSES[i] as Class, p.event.subject])) as Record<Class, string>;
  };
  const stored = <T extends EventType>(type: T, callId: string) =>
    eventually(() => engine.reader.last(type, 'acme', callId), { ...PATIENCE, what: `${type} of ${callId}` });
  const outcome = async (callId: string) => (await stored('tool.executed', callId)).event.data;
  const history = (callId: string) =>
    engine.db.selectFrom('attempts').selectAll().where('call_id', '=', callId).orderBy('attempt').execute();
  const settle = (callId: string, body: object) => engine.ask('POST', `/v1/calls/${callId}/settle`, body);

  /** The first engine stops in the middle of all four; another one carries on. */
  const interrupted = async (trouble: Trouble, stop: (e: Engine) => Promise<unknown> | unknown) => {
    remote.trouble = trouble;
    const calls = await held();
    await eventually(() => remote.held === CLASSES.length, { ...PATIENCE, what: 'all four to be under way' });
    const first = running;
    await stop(first);
    running = await start();
    return { calls, first };
  };
  const expectTakenOver = async (calls: Record<Class, string>, effects: Record<Class, number>) => {
    for (const c of ['idempotent', 'keyed', 'reconcilable'] as const) {
      expect(await outcome(calls[c])).toMatchObject({ status: 'Ok', held: true, attempt: 2 });
      expect((await history(calls[c])).map((a) => a.outcome)).toEqual(['lapsed', 'done']);
    }
    expect((await stored('tool.in-doubt', calls.once)).event.data).toMatchObject({
      attempt: 1,
      held: true,
      reason: 'lease-lapsed',
      note: null,
    });
    expect((await history(calls.once)).map((a) => a.outcome)).toEqual(['lapsed']);
    expect(Object.fromEntries(CLASSES.map((c) => [c, remote.effectsOf(calls[c])]))).toEqual(effects);
  };
  const unchanged = async (calls: Record<Class, string>, thaw: () => Promise<void>) => {
    const rows = () =>
      engine.db.selectFrom('executions').selectAll().where('call_id', 'in', Object.values(calls)).execute();
    const before = await rows();
    await thaw();
    expect(await rows()).toEqual(before);
  };

  if (DEEP)
    it('killed after the claim: tried again where the class allows it, in doubt otherwise', async () => {
      const { calls } = await interrupted('hold before', kill);
      await expectTakenOver(calls, { idempotent: 1, keyed: 1, reconcilable: 1, once: 0 });
      expect((await settle(calls.once, { happened: false })).status).toBe(200);
      remote.letGo();
    }, 90_000);

  it('wolverine#585, RUNSTR#270: killed after the effect: no effect takes place twice', async () => {
    const { calls } = await interrupted('hold after', kill);
    await expectTakenOver(calls, { idempotent: 1, keyed: 1, reconcilable: 1, once: 1 });
    expect((await settle(calls.once, { happened: true })).status).toBe(200);
    remote.letGo();
  }, 90_000);

  it('frozen past its lease before the effect: once thawed it begins nothing and writes nothing', async () => {
    const { calls, first } = await interrupted('hold before', (e) => e.child.kill('SIGSTOP'));
    await expectTakenOver(calls, { idempotent: 1, keyed: 1, reconcilable: 1, once: 0 });
    await unchanged(calls, async () => {
      remote.letGo();
      first.child.kill('SIGCONT');
      const notBegun = () => remote.requests.filter((r) => r.what === 'not-begun' && r.attempt === 1);
      const mine = new Set<string>(Object.values(calls));
      await eventually(() => notBegun().filter((r) => mine.has(r.callId)).length === 4, PATIENCE);
      await drain(first);
    });
    expect(CLASSES.map((c) => remote.effectsOf(calls[c]))).toEqual([1, 1, 1, 0]);
    // the late answer of the first attempt, "it did not happen", is true of it, and the person has to say it
    expect((await engine.ask('GET', '/v1/doubts')).body['items']).toHaveLength(1);
    expect((await settle(calls.once, { happened: false })).status).toBe(200);
  }, 90_000);

  if (DEEP)
    it('mutant: without the question for the lease an effect takes place twice', async () => {
      await drain(running);
      running = await start({ MUTANT: 'no-lease' });
      const { calls, first } = await interrupted('hold before', (e) => e.child.kill('SIGSTOP'));
      await expectTakenOver(calls, { idempotent: 1, keyed: 1, reconcilable: 1, once: 0 });
      remote.letGo();
      first.child.kill('SIGCONT');
      await eventually(() => remote.effectsOf(calls.reconcilable) === 2, PATIENCE);
      await drain(first);
      expect((await settle(calls.once, { happened: true })).status).toBe(200);
    }, 90_000);

  if (DEEP)
    it('frozen past its lease after the effect: what it says once thawed is not heard', async () => {
      const { calls, first } = await interrupted('hold after', (e) => e.child.kill('SIGSTOP'));
      await expectTakenOver(calls, { idempotent: 1, keyed: 1, reconcilable: 1, once: 1 });
      await unchanged(calls, async () => {
        remote.letGo();
        first.child.kill('SIGCONT');
        await drain(first);
      });
      expect((await settle(calls.once, { happened: true })).status).toBe(200);
    }, 90_000);

  it('cmcp#571: no answer after the effect: asked for again, looked up, or in doubt', async () => {
    remote.trouble = 'unknown';
    const first = running;
    running = await start();
    const calls = await held();
    for (const c of ['idempotent', 'keyed', 'reconcilable'] as const) {
      expect(await outcome(calls[c])).toMatchObject({ status: 'Ok', attempt: 2 });
      expect((await history(calls[c])).map((a) => a.outcome)).toEqual(['unknown', 'done']);
    }
    expect((await stored('tool.in-doubt', calls.once)).event.data.reason).toBe('tool-answered-unknown');
    expect(CLASSES.map((c) => remote.effectsOf(calls[c]))).toEqual([1, 1, 1, 1]);
    expect((await settle(calls.once, { happened: true })).status).toBe(200);
    await drain(first);
  }, 90_000);

  it.each(DEEP ? (['idempotent', 'keyed'] as const) : (['keyed'] as const))(
    'a remote end that never answers: %s, tried so often and then in doubt',
    async (c) => {
      remote.trouble = 'mute';
      const { proposals } = await propose(c, 'approve', 1);
      const [proposal] = proposals as [Stored<'tool.proposed'>];
      const callId = proposal.event.subject;
      await release(proposal);
      const doubt = await stored('tool.in-doubt', callId);
      expect(doubt.event.data).toMatchObject({ attempt: ATTEMPTS, reason: 'tool-answered-unknown' });
      expect((await history(callId)).map((a) => a.outcome)).toEqual(Array(ATTEMPTS).fill('unknown'));
      expect(remote.effectsOf(callId)).toBe(1);
      expect((await settle(callId, { happened: true })).status).toBe(200);
    },
    60_000,
  );

  it('an unheld call is waited for by its run, over all attempts', async () => {
    remote.trouble = 'unknown';
    const { runId, proposals } = await propose('keyed', 'auto', 1);
    const [proposal] = proposals as [Stored<'tool.proposed'>];
    expect(await outcome(proposal.event.subject)).toMatchObject({ status: 'Ok', held: false, attempt: 2 });
    const { conversationId, state } = await engine.ended(runId);
    expect(state).toBe('ok');
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    expect(JSON.stringify(body)).toContain('done at attempt 2');
  }, 60_000);

  if (DEEP)
    it('a schema that changed meanwhile: in doubt, never another attempt', async () => {
      remote.trouble = 'hold after';
      const { proposals } = await propose('keyed', 'approve', 1);
      const [proposal] = proposals as [Stored<'tool.proposed'>];
      const callId = proposal.event.subject;
      await release(proposal);
      await eventually(() => remote.held === 1, PATIENCE);
      await kill(running);
      running = await start({ REMOTE_NOTE_MAX: '500' });
      const doubt = await stored('tool.in-doubt', callId);
      expect(doubt.event.data).toMatchObject({ attempt: 1, reason: 'lease-lapsed', note: { kid: expect.any(String) } });
      expect(remote.requests.filter((r) => r.callId === callId && r.attempt > 1)).toEqual([]);
      expect((await settle(callId, { happened: true })).status).toBe(200);
      remote.letGo();
      await drain(running);
      running = await start();
    }, 60_000);

  it('in-doubt → closed, and proposed anew: the same arguments as a new call of the same run, through the gate', async () => {
    remote.trouble = 'mute';
    const { runId, proposals } = await propose('once', 'approve', 1);
    const [proposal] = proposals as [Stored<'tool.proposed'>];
    const old = proposal.event.subject;
    await release(proposal);
    await stored('tool.in-doubt', old);
    remote.trouble = 'none';
    expect((await settle(old, { happened: true, proposeAnew: true })).status).toBe(400);
    const { status, body } = await settle(old, { happened: false, proposeAnew: true });
    expect(status).toBe(200);
    const anew = body['proposedAnew'] as string;
    const closed = await stored('tool.executed', old);
    expect(closed.event.data).toMatchObject({ status: 'Error', settledBy: { id: 'ada' } });
    const again = await hold(anew, 'approve');
    const { call, step, index } = again.event.data;
    expect({ ...call, digest: '' }).toEqual({ ...proposal.event.data.call, digest: '' });
    expect(call.digest).not.toBe(proposal.event.data.call.digest);
    expect([again.event.runid, step, index, again.event.causationid]).toEqual([runId, 1, 1, closed.event.id]);
    expect(again.event.data.argumentBytes).toBe(proposal.event.data.argumentBytes);
    expect(await engine.reader.last('tool.started', 'acme', anew)).toBeNull();
    await release(again);
    expect(await outcome(anew)).toMatchObject({ status: 'Ok', held: true, attempt: 1 });
    expect(remote.effectsOf(anew)).toBe(1);
    expect((await settle(old, { happened: false, proposeAnew: true })).status).toBe(409);
  }, 60_000);

  if (DEEP)
    it('proposed anew by an engine that dies on the way: given up, like any call of a lost engine', async () => {
      remote.trouble = 'mute';
      const { proposals } = await propose('once', 'approve', 1);
      const [proposal] = proposals as [Stored<'tool.proposed'>];
      await release(proposal);
      await stored('tool.in-doubt', proposal.event.subject);
      remote.trouble = 'none';
      const { body } = await settle(proposal.event.subject, { happened: false, proposeAnew: true });
      const anew = body['proposedAnew'] as string;
      await stored('tool.proposed', anew);
      await kill(running);
      running = await start();
      await engine.db
        .updateTable('calls')
        .set({ followed_at: new Date(0) })
        .where('call_id', '=', anew)
        .execute();
      expect((await stored('tool.abandoned', anew)).event.data.reason).toBe('engine-lost');
      expect(remote.effectsOf(anew)).toBe(0);
    }, 60_000);

  it('approved → closed: Denied when the content was erased meanwhile', async () => {
    const { proposals } = await propose('once', 'approve', 1);
    const [proposal] = proposals as [Stored<'tool.proposed'>];
    const { conversationId } = proposal.event.data.call;
    await drain(running);
    await sql`UPDATE keyring.data_keys SET wrapped = NULL, destroyed_at = clock_timestamp()
      WHERE conversation_id = ${conversationId}`.execute(engine.db);
    running = await start();
    await release(proposal);
    expect(await outcome(proposal.event.subject)).toMatchObject({
      status: 'Denied',
      held: true,
      reason: 'frozen.unreadable',
      result: null,
    });
    expect(await engine.deadLetters()).toBe(0);
  }, 60_000);

  it('the database refuses a second attempt of an at-most-once call, and a way back', async () => {
    const { call_id } = await engine.db
      .selectFrom('executions')
      .select('call_id')
      .where('state', '=', 'closed')
      .executeTakeFirstOrThrow();
    const change = (set: object) =>
      engine.db.updateTable('executions').set(set).where('call_id', '=', call_id).execute();
    await expect(change({ state: 'executing' })).rejects.toThrow('cannot go from');
    await expect(change({ attempt: 2, fence: 'f' })).rejects.toThrow();
    await expect(change({ execution_class: 'keyed' })).rejects.toThrow();
  });

  it('the stream of all this keeps to the table', async () => {
    const check = new StreamCheck();
    for (let seq = 1; ; seq++) {
      const raw = await engine.reader.rawBySeq(seq);
      if (!raw) break;
      check.add({ seq, subject: raw.subject, bytes: raw.bytes });
    }
    const report = check.finish();
    expect(report.violations).toEqual([]);
    expect(report.counts).toMatchObject({ abandoned: DEEP ? 1 : 0, settled: report.counts.inDoubt });
    expect(report.open.filter((o) => !o.state.startsWith('closed'))).toEqual([]);
  });
});
