import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type HoldpointEvent, STREAM, subjectOf } from '@holdpoint/contracts';
import { newId } from '@holdpoint/eventing';
import { eventually, sampled } from '@holdpoint/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { CallMaker, closedBox, runEvents, SPACE, World } from './fixture.js';

const EVENTS = sampled(500, 2_000);
const SEED = 20_260_101;

let world: World;
const children: ChildProcess[] = [];
beforeEach(async () => {
  world = await World.open();
});
afterEach(async () => {
  await Promise.all(children.splice(0).map(kill9));
  await world.close();
});

async function kill9(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** The service as a process of its own, as it is deployed. */
function spawnAudit(settings: NodeJS.ProcessEnv = {}): ChildProcess {
  const main = join(import.meta.dirname, '..', 'dist', 'src', 'main.js');
  const env = { ...process.env, NODE_OPTIONS: '', ...world.env, ...settings };
  const child = spawn(process.execPath, [main], { env, stdio: 'ignore' });
  children.push(child);
  return child;
}

/** mulberry32: the same numbers for the same seed. */
function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const NASTY = [
  'plain',
  'nul\u0000inside',
  'lone \ud800 surrogate',
  '\u202eright to left',
  'ünïcödé 😀',
  'x'.repeat(128),
];

/** Publishes one thing at random: an event, the same once more, or bytes that are none. */
async function publishOne(rnd: () => number): Promise<void> {
  const nasty = NASTY[Math.floor(rnd() * NASTY.length)] as string;
  const c = new CallMaker(world, { ref: { agent: nasty, tool: nasty, action: nasty, model: nasty } });
  const wild = <T extends HoldpointEvent>(e: T) => e;
  const pick = Math.floor(rnd() * 12);
  switch (pick) {
    case 0:
      return void (await world.publish(c.executed({ status: 'Ok', reason: nasty })));
    case 1:
      return void (await world.publish(c.verdict(), c.abandoned('engine-lost')));
    case 2:
      return void (await world.publish(c.abandoned('no-verdict')));
    case 3:
      return void (await world.publish(c.staged(), c.decided({ by: { kind: 'person', id: nasty } })));
    case 4:
      return void (await world.publish(c.decided({ decision: 'rejected', reason: closedBox })));
    case 5: {
      const run = runEvents(newId(), {
        reason: nasty,
        cost: { amount: nasty, known: true },
        steps: Number.MAX_SAFE_INTEGER,
      });
      return void (await world.publish(run.queued, run.started, run.completed));
    }
    case 6:
      return void (await world.publish(c.taskCreated()));
    case 7: {
      const event = wild(runEvents(newId()).completed);
      await world.publish(event);
      return void (await world.publishRaw('agent-engine', subjectOf(event), JSON.stringify(event)));
    }
    case 8: {
      const bytes = Buffer.from(Array.from({ length: Math.floor(rnd() * 200) }, () => Math.floor(rnd() * 256)));
      return void (await world.publishRaw('policy', `policy.decided.${SPACE}.${newId()}`, bytes));
    }
    case 9:
      return void (await world.publishRaw('staging', `call.staged.${SPACE}.${newId()}`, JSON.stringify(c.executed())));
    case 10:
      return void (await world.publishRaw(
        'taskboard',
        `task.ready.weird-${nasty.length}.a.b.c`,
        '{"type":"task.ready"}',
      ));
    default:
      return void (await world.publishRaw('agent-engine', subjectOf(c.started()), JSON.stringify(c.started()), {
        'Nats-Stream': 'OTHER',
      }));
  }
}

async function publishMany(count: number, rnd: () => number): Promise<void> {
  const until = (await world.lastSeq()) + count;
  while ((await world.lastSeq()) < until) await Promise.all(Array.from({ length: 32 }, () => publishOne(rnd)));
}

/** Everything that the stream holds, as the provisioner sees it. */
async function streamed() {
  const consumer = await world.hub.js.consumers.get(STREAM, { filter_subjects: '>' });
  const { num_pending } = await consumer.info();
  const messages: { seq: number; subject: string; body: Buffer }[] = [];
  for await (const m of await consumer.fetch({ max_messages: num_pending, expires: 10_000 }))
    messages.push({ seq: m.seq, subject: m.subject, body: Buffer.from(m.data) });
  return messages;
}

const log = () => world.db.selectFrom('event_log').selectAll().orderBy('stream_seq').execute();

async function expectByteForByte(): Promise<void> {
  const [stream, rows] = [await streamed(), await log()];
  expect(rows.length).toBe(stream.length);
  const differing = stream.filter(({ seq, subject, body }, i) => {
    const row = rows[i];
    return row?.stream_seq !== seq || row.subject !== subject || !row.body.equals(body);
  });
  expect(differing).toEqual([]);
  expect(await world.position()).toMatchObject({ first_seq: 1, last_seq: stream.at(-1)?.seq });
}

it(`teleport#6351: ${EVENTS} random events, the writer killed -9 in the middle: the log is the stream, byte for byte`, async () => {
  const rnd = random(SEED);
  const first = spawnAudit({ AUDIT_BATCH_MAX: '37' });
  const publishing = publishMany(EVENTS, rnd);
  await eventually(async () => ((await world.position())?.last_seq ?? 0) > EVENTS / 3, { timeoutMs: 30_000 });
  await kill9(first);
  const at = (await world.position())?.last_seq ?? 0;
  await publishing;
  expect(at).toBeLessThan(await world.lastSeq());
  spawnAudit();
  await world.logged(45_000);
  await expectByteForByte();

  const rows = await log();
  const faults = Map.groupBy(rows, (r) => r.fault ?? 'none');
  expect([...faults.keys()].toSorted()).toEqual(['broker-headers', 'none', 'not-an-event', 'not-json', 'not-utf8']);
  const read = rows.filter((r) => r.fault === null && !r.duplicate);
  const outcomes = read.filter(
    (r) => r.type === 'tool.executed' || r.type === 'call.staged' || r.type === 'approval.decided',
  );
  const verdicts = new Set(read.filter((r) => r.type === 'policy.decided').map((r) => r.call_id));
  const abandoned = read.filter((r) => r.type === 'tool.abandoned' && !verdicts.has(r.call_id));
  const entries = await world.db.selectFrom('audit_log').select('stream_seq').orderBy('stream_seq').execute();
  expect(entries.map((e) => e.stream_seq)).toEqual(
    [...outcomes, ...abandoned].map((r) => r.stream_seq).toSorted((a, b) => a - b),
  );
  const receipts = await world.db.selectFrom('run_receipts').select('stream_seq').orderBy('stream_seq').execute();
  expect(receipts.map((r) => r.stream_seq)).toEqual(
    read.filter((r) => r.type === 'run.completed').map((r) => r.stream_seq),
  );
}, 120_000);

describe('what cannot be read', () => {
  it('is logged, says why, and does not stop the log', async () => {
    await world.start();
    const c = new CallMaker(world);
    const subject = `tool.executed.${SPACE}.${c.id}`;
    const poison: [Buffer | string, string, Record<string, string>?][] = [
      ['', 'not-json'],
      ['nonsense', 'not-json'],
      [Buffer.from([0xff, 0xfe]), 'not-utf8'],
      ['null', 'not-an-event'],
      [JSON.stringify({ ...c.executed(), dataschema: 'urn:holdpoint:event:tool.executed:99' }), 'not-an-event'],
      [JSON.stringify(new CallMaker(world).executed()), 'not-an-event'],
      [JSON.stringify(c.executed()), 'broker-headers', { 'nats-subject': 'x' }],
    ];
    const seqs: number[] = [];
    for (const [bytes, , headers] of poison) seqs.push(await world.publishRaw('agent-engine', subject, bytes, headers));
    await world.publish(new CallMaker(world).executed());
    // To the bus an empty body ends the pull that it answers, so the rest waits for the next pull.
    await world.logged(30_000);
    await expectByteForByte();
    const rows = (await log()).filter((r) => seqs.includes(r.stream_seq));
    expect(rows.map((r) => r.fault)).toEqual(poison.map(([, fault]) => fault));
    expect(rows.every((r) => r.event_id === null && r.call_id === null)).toBe(true);
    expect(await world.entries(`call=${c.id}`)).toEqual([]);
  }, 45_000);

  it('a subject that text cannot hold', async () => {
    await world.start();
    await world.publishRaw('agent-engine', `tool.executed.${SPACE}.nul\u0000`, '{}');
    await world.publish(new CallMaker(world).executed());
    await world.logged();
    expect((await log()).map((r) => r.subject)[0]).toBe(`tool.executed.${SPACE}.nul\ufffd`);
  });
});

describe('the same event id twice', () => {
  it('the same bytes: logged, marked, and nothing derived from it again', async () => {
    await world.start();
    const c = new CallMaker(world);
    const event = c.started();
    await world.publish(event);
    await world.publishRaw('agent-engine', subjectOf(event), JSON.stringify(event));
    const run = runEvents(newId()).completed;
    await world.publish(run);
    await world.publishRaw('agent-engine', subjectOf(run), JSON.stringify(run));
    await world.logged();
    expect((await log()).map((r) => r.duplicate)).toEqual([false, true, false, true]);
    expect(await world.db.selectFrom('run_receipts').select('run_id').execute()).toHaveLength(1);
  });

  it('on another event: that one is not hidden by it', async () => {
    await world.start();
    const c = new CallMaker(world);
    const first = c.started();
    await world.publish(first, { ...c.executed(), id: first.id });
    await world.logged();
    expect(await world.entries(`call=${c.id}`)).toHaveLength(1);
  });
});

describe('one writer', () => {
  it('the second stands by, and takes over when the first ends', async () => {
    const first = await world.start();
    await eventually(async () => (await world.get('/v1/audit/position')).body['writer'] === 'writing');
    await world.start();
    await eventually(async () => (await world.get('/v1/audit/position')).body['writer'] === 'standby');
    await world.publish(new CallMaker(world).executed());
    await world.logged();
    await first.close();
    await eventually(async () => (await world.get('/v1/audit/position')).body['writer'] === 'writing');
    await world.publish(new CallMaker(world).executed());
    await world.logged();
    await expectByteForByte();
  });

  it('carries on after its session was cut and after the bus was killed', async () => {
    await world.start();
    await publishMany(50, random(SEED));
    await world.logged();
    await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'audit' AND datname = current_database()`.execute(
      world.db,
    );
    await publishMany(50, random(SEED + 1));
    await world.logged(20_000);
    await world.bus.kill9();
    await world.bus.restart();
    await eventually(() => publishMany(50, random(SEED + 2)).then(() => true), { timeoutMs: 20_000 });
    await world.logged(30_000);
    await expectByteForByte();
  }, 90_000);
});

describe('log and stream disagree', () => {
  const said: string[] = [];
  const write = process.stdout.write;
  beforeEach(() => {
    said.length = 0;
    process.stdout.write = ((...written: Parameters<typeof write>) => {
      if (!String(written[0]).includes('"the log is halted"')) return write.apply(process.stdout, written);
      said.push(String(written[0]));
      return true;
    }) as typeof write;
  });
  afterEach(() => {
    process.stdout.write = write;
  });

  const halts = async (fault: string) => {
    await eventually(async () => (await world.get('/v1/audit/position')).body['fault'] === fault);
    const answer = await fetch(`${world.url}/readyz`);
    expect(answer.status).toBe(503);
    expect(((await answer.json()) as { failing: string[] }).failing).toContain('audit-log');
    expect(said.join('')).toContain(fault);
  };
  const stopAfter = async (messages: number) => {
    const app = await world.start();
    for (let i = 0; i < messages; i++) await world.publish(new CallMaker(world).executed());
    await world.logged();
    await app.close();
  };

  it('a database restored from a backup → refused, until a person has it catch up', async () => {
    await stopAfter(20);
    await world.force(`TRUNCATE run_receipts, audit_log; DELETE FROM event_log WHERE stream_seq > 8;
      UPDATE position SET last_seq = 8; TRUNCATE signing_keys, checkpoints`);
    const halted = await world.start();
    await halts('audit.checkpoint-ahead');
    expect(await log()).toHaveLength(8);
    await halted.close();
    await world.start({ AUDIT_AFTER_RESTORE: 'catch-up' });
    await world.logged();
    await expectByteForByte();
    const whole = world.db.selectFrom('checkpoints').select('number').where('size', '=', 20);
    await eventually(async () => (await whole.execute()).length > 0);
  });

  it('the stream is behind → refused, and nothing is written', async () => {
    await stopAfter(5);
    await world.force('UPDATE position SET last_seq = 1000');
    await world.start();
    await halts('audit.stream-behind');
    await world.publish(new CallMaker(world).executed());
    expect(await log()).toHaveLength(5);
  });

  it('the stream is another one → refused', async () => {
    await stopAfter(5);
    await world.force(`UPDATE event_log SET body = 'another' WHERE stream_seq = 5`);
    await world.start();
    await halts('audit.stream-differs');
  });

  it('a hole → refused; nothing is skipped', async () => {
    await stopAfter(5);
    await world.force(`TRUNCATE audit_log, run_receipts; DELETE FROM event_log WHERE stream_seq > 2;
      UPDATE position SET last_seq = 2`);
    await ageOut();
    await world.publish(new CallMaker(world).executed());
    await world.start({ AUDIT_AFTER_RESTORE: 'catch-up' });
    await halts('audit.gap');
    expect(await log()).toHaveLength(2);
  });

  it('a log that begins when the stream is older begins where the stream does', async () => {
    const c = new CallMaker(world);
    await world.publish(c.started(), c.started(), c.started());
    await ageOut();
    const seq = await world.publish(c.executed());
    await world.start();
    await world.logged();
    expect(await world.position()).toMatchObject({ first_seq: seq, last_seq: seq });
    await ageOut();
    const { body } = await world.get(`/v1/calls/${c.id}/chain`);
    expect(body['events']).toMatchObject([{ seq, log: 'absent' }]);
  });

  /** Lets everything that is in the stream now go past its window. */
  const ageOut = async () => {
    const { config } = await world.hub.jsm.streams.info(STREAM);
    const window = (ns: number, dup: number) =>
      world.hub.jsm.streams.update(STREAM, { ...config, max_age: ns, duplicate_window: dup });
    await window(2e8, 2e8);
    await eventually(async () => (await world.hub.jsm.streams.info(STREAM)).state.messages === 0);
    await window(0, 120e9);
  };
});
