import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { taskPromptReply, type WakeUp } from '@holdpoint/contracts';
import { newEvent, newId } from '@holdpoint/eventing';
import { Keyring } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { startEngine, type TestEngine } from './engine.js';
import { approvalOf, verdictOn } from './events.js';
import { play, scriptOf, turn } from './script.js';

// Charter section 7, the engine's rows, and the ends of a call that nobody knows.

const mail = '{"action":"send","to":["a@example.test"],"subject":"s","body":"b"}';

/** Takes a mail to its last byte and never answers: what then happened to it nobody can tell. */
function silentSmtp(): Promise<Server> {
  const server = createServer((socket) => {
    let data = false;
    socket.on('error', () => undefined);
    socket.write('220 silent\r\n');
    socket.on('data', (chunk) => {
      if (data) return;
      for (const line of chunk.toString().split('\r\n').filter(Boolean)) {
        if (/^DATA/i.test(line)) {
          data = true;
          socket.write('354 go on\r\n');
        } else socket.write('250 ok\r\n');
      }
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

describe('runs and unknown ends', () => {
  let engine: TestEngine;
  let smtp: Server;

  beforeAll(async () => {
    smtp = await silentSmtp();
    engine = await startEngine({
      script: scriptOf({
        hello: '      - text: hello yourself\n',
        slow: turn([], { waitMs: 20_000 }),
        waits: play('FileRW', '{"action":"write","path":"w.txt","content":"x"}'),
        sends: play('Mail', mail),
        'reads much': turn(Array(3).fill({ tool: 'FileRW', arguments: '{"action":"read","path":"large.txt"}' })),
        'writes too much': play('FileRW', `{"action":"write","path":"x","content":"${'a'.repeat(300_000)}"}`),
        'Your action .*': '      - text: I heard.\n',
      }),
      env: {
        VERDICT_TIMEOUT_MS: '20000',
        STAGED_TIMEOUT_MS: '1',
        RUN_LOST_AFTER_MS: '10000',
        EXECUTION_LEASE_MS: '1000',
        MAIL_SMTP_URL: `smtp://127.0.0.1:${(smtp.address() as AddressInfo).port}`,
        MAIL_TIMEOUT_MS: '1000',
      },
    });
  });
  afterAll(async () => {
    await engine.stop();
    smtp.close();
  });

  const conversation = async () => (await engine.ended(await engine.run('hello'))).conversationId;
  const runsOf = (taskId: string) => engine.db.selectFrom('runs').selectAll().where('task_id', '=', taskId).execute();
  const ready = (taskId: string, conversationId: string, attempt: number, wakeUp: Partial<WakeUp> = {}) =>
    engine.as.taskboard.publish(
      newEvent('task.ready', {
        spaceId: 'acme',
        entityId: taskId,
        data: {
          attempt,
          leaseUntil: new Date(Date.now() + 60_000).toISOString(),
          work: {
            conversationId,
            agent: 'helper',
            principal: { kind: 'person', id: 'ada' },
            wakeUp: {
              callId: newId(),
              number: 7,
              tool: 'Mail',
              action: 'send',
              outcome: 'rejected',
              status: null,
              settled: false,
              reasonCode: null,
              by: { kind: 'person', id: 'ben' },
              result: null,
              reason: null,
              ...wakeUp,
            },
          },
        },
      }),
    );
  const wokenBy = (taskId: string) =>
    eventually(
      async () => {
        const [run] = await runsOf(taskId);
        return run?.state === 'ok' ? run : undefined;
      },
      { what: `the end of the run of ${taskId}` },
    );

  it('offered → accepted → running → done: the wake-up comes in its conversation, with task and source', async () => {
    const conversationId = await conversation();
    const taskId = `wake-${newId()}`;
    await ready(taskId, conversationId, 1);
    const [run] = await eventually(async () => {
      const rows = await runsOf(taskId);
      return rows[0]?.state === 'ok' ? rows : undefined;
    });
    expect(run).toMatchObject({ conversation_id: conversationId, source: 'task', attempt: 1 });
    const completed = await engine.stored('run.completed', run?.run_id ?? '');
    expect(completed.event.data).toMatchObject({ taskId, attempt: 1, source: 'task', status: 'ok' });
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    expect(JSON.stringify(body)).toContain('(acme#7) was rejected by a person');
  });

  it('n8n#34645, vercel/ai#17083: the agent is told the result, and what the approver said', async () => {
    const conversationId = await conversation();
    const callId = newId();
    const seal = (field: 'result' | 'reason', text: string) =>
      engine.app.get(Keyring).seal({ spaceId: 'acme', conversationId, entityId: callId, field }, Buffer.from(text));
    const taskId = `wake-${callId}`;
    await ready(taskId, conversationId, 1, {
      callId,
      outcome: 'executed',
      status: 'Ok',
      result: await seal('result', 'message id 4711'),
      reason: await seal('reason', 'only this once'),
    });
    await wokenBy(taskId);
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    const { text } = (body['turns'] as { role: string; text: string }[]).findLast((t) => t.role === 'user') ?? {};
    expect(text).toContain(
      'was approved and executed. The approver said: "only this once".\nResult:\nmessage id 4711\n',
    );
  });

  it('offered → accepted: one run a task and attempt, however often it is offered', async () => {
    const conversationId = await conversation();
    const taskId = `wake-${newId()}`;
    await ready(taskId, conversationId, 1);
    await ready(taskId, conversationId, 1);
    await ready(taskId, conversationId, 2);
    const rows = await eventually(async () => {
      const found = await runsOf(taskId);
      return found.length >= 2 && found.every((r) => r.state === 'ok') ? found : undefined;
    });
    expect(rows.map((r) => r.attempt).sort()).toEqual([1, 2]);
  });

  it('offered → accepted → running → done: a prompt of a person, sealed here for the taskboard, in a new conversation', async () => {
    const taskId = newId();
    const asked = {
      taskId,
      spaceId: 'acme',
      agent: 'helper',
      principal: { kind: 'person' as const, id: 'ada' },
      prompt: 'hello',
    };
    const seal = (body: object, who: 'ada' | 'taskboard' = 'taskboard') =>
      engine.ask('POST', '/internal/task-prompts', body, { who });
    const answers = await Promise.all([seal(asked), seal(asked)]);
    expect(answers.map((a) => a.status)).toEqual([200, 200]);
    const { conversationId, prompt } = taskPromptReply.parse(answers[0]?.body);
    expect(conversationId).toBe(taskId);
    expect((await seal(asked, 'ada')).status).toBe(403);
    expect((await seal({ ...asked, agent: 'nobody' })).status).toBe(404);
    expect((await seal({ ...asked, spaceId: 'other' })).status).toBe(404);
    expect((await seal({ ...asked, conversationId: 'not-there' })).status).toBe(404);

    const { agent, principal } = asked;
    await engine.as.taskboard.publish(
      newEvent('task.ready', {
        spaceId: 'acme',
        entityId: taskId,
        data: {
          attempt: 1,
          leaseUntil: new Date(Date.now() + 60_000).toISOString(),
          work: { conversationId, agent, principal, prompt },
        },
      }),
    );
    const [run] = await eventually(async () => {
      const rows = await runsOf(taskId);
      return rows[0]?.state === 'ok' ? rows : undefined;
    });
    expect(run).toMatchObject({ conversation_id: taskId, source: 'task', attempt: 1 });
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    expect(body['turns']).toMatchObject([{ role: 'user', text: 'hello' }, { role: 'assistant' }]);
  });

  it('accepted: a run waits while its conversation is busy', async () => {
    const conversationId = await conversation();
    const busy = await engine.run('waits', conversationId);
    const [callId] = await engine.calls(busy);
    const waiting = await engine.run('hello', conversationId);
    const proposal = await engine.stored('tool.proposed', callId as string);
    expect((await engine.ask('GET', `/v1/runs/${waiting}`)).body['state']).toBe('queued');
    await engine.as.policy.publish(verdictOn(proposal, 'deny'));
    const first = await engine.ended(busy);
    await engine.ended(waiting);
    expect(first.state).toBe('ok');
    const started = await engine.stored('run.started', waiting);
    expect(started.seq).toBeGreaterThan((await engine.stored('tool.executed', callId as string)).seq);
  });

  it('paperclip#3432: wake-ups that come while a run is under way wait for it, and each is heard', async () => {
    const conversationId = await conversation();
    const busy = await engine.run('waits', conversationId);
    const [callId] = await engine.calls(busy);
    const proposal = await engine.stored('tool.proposed', callId as string);
    const tasks = [1, 2, 3].map((number) => ({ number, id: `wake-${newId()}` }));
    for (const { number, id } of tasks) await ready(id, conversationId, 1, { number });
    for (const { id } of tasks)
      await eventually(async () => (await runsOf(id))[0]?.state === 'queued', { what: `a queued run for ${id}` });
    await engine.as.policy.publish(verdictOn(proposal, 'deny'));
    expect((await engine.ended(busy)).state).toBe('ok');
    for (const { id } of tasks) await wokenBy(id);
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    const said = JSON.stringify(body);
    for (const { number } of tasks) expect(said.split(`(acme#${number}) was rejected`)).toHaveLength(2);
  });

  it('running → interrupted: a lost engine’s run, its proposal given up, its round answered', async () => {
    const runId = await engine.run('waits');
    const [callId] = await engine.calls(runId);
    const proposal = await engine.stored('tool.proposed', callId as string);
    await sql`update runs set engine = 'gone', heartbeat_at = to_timestamp(0) where run_id = ${runId}`.execute(
      engine.db,
    );
    expect(await engine.ended(runId)).toMatchObject({
      state: 'interrupted',
      reason: 'engine-lost',
      result: expect.stringContaining('start another run'),
    });
    expect((await engine.stored('tool.abandoned', callId as string)).event.data.reason).toBe('engine-lost');
    await engine.as.policy.publish(verdictOn(proposal, 'auto'));
    const next = await engine.run('hello', proposal.event.data.call.conversationId);
    expect((await engine.ended(next)).state).toBe('ok');
    expect(await engine.reader.last('tool.started', 'acme', callId as string)).toBeNull();
  });

  it('unfinished → cancelled: the running run of a cancelled task is cancelled, its open call given up without an execution', async () => {
    const conversationId = await conversation();
    const runId = await engine.run('waits', conversationId);
    const [callId] = await engine.calls(runId);
    await engine.stored('tool.proposed', callId as string);
    const taskId = newId();
    await sql`update runs set task_id = ${taskId}, attempt = 1 where run_id = ${runId}`.execute(engine.db);
    await engine.as.taskboard.publish(
      newEvent('task.cancelled', {
        spaceId: 'acme',
        entityId: taskId,
        data: { by: { kind: 'person', id: 'ada' }, reason: 'no longer needed', runId },
      }),
    );
    expect(await engine.ended(runId)).toMatchObject({
      state: 'cancelled',
      result: expect.stringContaining('start another run'),
    });
    expect((await engine.stored('tool.abandoned', callId as string)).event.data.reason).toBe('cancelled');
    expect(await engine.reader.last('tool.executed', 'acme', callId as string)).toBeNull();
  });

  const doubtful = async () => {
    const runId = await engine.run('sends');
    const [callId] = await engine.calls(runId);
    const proposal = await engine.stored('tool.proposed', callId as string);
    await engine.as.policy.publish(verdictOn(proposal, 'approve'));
    await engine.as.staging.publish(approvalOf(proposal));
    await engine.stored('tool.in-doubt', callId as string);
    return callId as string;
  };

  it('executing → in-doubt: the tool answered unknown; it is listed', async () => {
    const callId = await doubtful();
    expect((await engine.stored('tool.in-doubt', callId)).event.data.reason).toBe('tool-answered-unknown');
    const { body } = await engine.ask('GET', '/v1/doubts');
    expect(body['items']).toContainEqual(expect.objectContaining({ callId, held: true, tool: 'Mail', action: 'send' }));
  });

  it.each([
    [true, 'Ok'],
    [false, 'Error'],
  ])('in-doubt → closed: a person says happened = %s', async (happened, status) => {
    const callId = await doubtful();
    const settled = await engine.ask('POST', `/v1/calls/${callId}/settle`, { happened });
    expect(settled).toEqual({ status: 200, body: { callId, status } });
    const executed = await engine.stored('tool.executed', callId);
    expect(executed.event.data).toMatchObject({ status, settledBy: { kind: 'person', id: 'ada' }, held: true });
    const again = await engine.ask('POST', `/v1/calls/${callId}/settle`, { happened });
    expect(again).toMatchObject({ status: 409, body: { code: 'engine.call-not-in-doubt', state: 'closed' } });
  });

  it('executing → in-doubt: lease and tool time-out lapsed', async () => {
    const runId = await engine.run('waits');
    const [callId] = await engine.calls(runId);
    const proposal = await engine.stored('tool.proposed', callId as string);
    const { event } = proposal;
    await engine.db
      .insertInto('executions')
      .values({
        call_id: callId as string,
        space_id: 'acme',
        run_id: runId,
        ref: JSON.stringify(event.data.call),
        held: false,
        state: 'executing',
        attempt: 1,
        fence: 'of a process that is gone',
        lease_until: sql<Date>`clock_timestamp() - interval '2 seconds'`,
        timeout_ms: 1000,
        doubt_reason: null,
        execution_class: 'at-most-once',
      })
      .execute();
    const doubt = await engine.stored('tool.in-doubt', callId as string);
    expect(doubt.event.data).toMatchObject({ reason: 'lease-lapsed', attempt: 1 });
    await engine.as.policy.publish(verdictOn(proposal, 'deny'));
    await engine.ended(runId);
  });

  it('a claim never goes back, whoever asks the table', async () => {
    const callId = await doubtful();
    await expect(
      sql`update executions set state = 'executing', doubt_reason = null where call_id = ${callId}`.execute(engine.db),
    ).rejects.toThrow(/cannot go from in-doubt to executing/);
    await expect(sql`delete from executions where call_id = ${callId}`.execute(engine.db)).rejects.toThrow(
      /permission denied/,
    );
  });

  it('a round whose answers fill more than one box is said all the same, and larger arguments are an Error', async () => {
    await writeFile(join(engine.workspace, 'large.txt'), 'a'.repeat(130_000));
    const large = await engine.run('reads much');
    for (const callId of await engine.calls(large, 3)) {
      await engine.as.policy.publish(verdictOn(await engine.stored('tool.proposed', callId), 'auto'));
    }
    const { state, conversationId } = await engine.ended(large);
    expect(state).toBe('ok');
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    expect(JSON.stringify(body).length).toBeGreaterThan(300_000);

    const tooLarge = await engine.run('writes too much', conversationId);
    const [callId] = await engine.calls(tooLarge);
    expect((await engine.stored('tool.executed', callId as string)).event.data).toMatchObject({
      status: 'Error',
      reason: 'arguments.too-large',
    });
    expect((await engine.ended(tooLarge)).state).toBe('ok');
  });

  it('unknown ids are 404, malformed bodies 400 with the field, for agents, runs, conversations and calls', async () => {
    expect((await engine.ask('GET', `/v1/runs/${newId()}`)).status).toBe(404);
    expect((await engine.ask('GET', `/v1/conversations/${newId()}`)).status).toBe(404);
    expect((await engine.ask('POST', '/v1/agents/nobody/runs', { prompt: 'x' })).status).toBe(404);
    expect((await engine.ask('POST', `/v1/calls/${newId()}/settle`, { happened: true })).status).toBe(404);
    const bad = await engine.ask('POST', '/v1/agents/helper/runs', { prompt: 7 });
    expect(bad).toMatchObject({ status: 400, body: { errors: [{ field: 'prompt' }] } });
  });
});
