import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { consumerName, STREAM, STREAM_SUBJECTS, topology } from '@holdpoint/contracts';
import { BUS_API_PREFIX, durableNames, provisionBus, SERVICES } from '@holdpoint/provision';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { eventually, startBus, type TestBus } from '../src/index.js';

const notifier = { name: 'notifier', subjects: ['tool.executed.acme.>', 'approval.*.acme.>'] };
const other = { name: 'other', subjects: ['run.>'] };
const [executed, approvals] = durableNames(notifier) as [string, string];
const DOCS = join(import.meta.dirname, '..', '..', '..', 'docs');

let bus: TestBus;
let hub: NatsConnection;
let nc: NatsConnection;
let jsm: JetStreamManager;
let dir: string;
let example: ChildProcess | undefined;

beforeAll(async () => {
  bus = await startBus({ consumers: [notifier, other] });
  hub = await connect({ servers: bus.url, ...bus.credentials('hub') });
  nc = await connect({ servers: bus.url, ...bus.consumerCredentials('notifier') });
  jsm = await jetstreamManager(hub, { timeout: 2000 });
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-consumer-'));
});
afterAll(async () => {
  example?.kill();
  await nc?.close();
  await hub?.close();
  await bus?.stop();
  await rm(dir, { recursive: true, force: true });
});

let published = 0;
const publish = (subject: string, body = JSON.stringify({ id: `e${++published}`, type: 'probe', data: {} })) =>
  jetstream(hub).publish(subject, body);
const lastSeq = async () => (await jsm.streams.info(STREAM)).state.last_seq;
const answer = async (subject: string, body = '') => {
  try {
    return (await nc.request(subject, body, { timeout: 500 })).string();
  } catch (err) {
    return (err as Error).message;
  }
};

test('it is handed what it declared, of its space alone, and acknowledges it', async () => {
  await publish('tool.executed.other.c0');
  const { seq } = await publish('tool.executed.acme.c1');
  await publish('approval.decided.acme.c1');
  const js = jetstream(nc, { apiPrefix: BUS_API_PREFIX });
  const first = await (await js.consumers.get(STREAM, executed)).next({ expires: 5000 });
  expect([first?.seq, first?.subject]).toEqual([seq, 'tool.executed.acme.c1']);
  const second = await (await js.consumers.get(STREAM, approvals)).next({ expires: 5000 });
  expect(second?.subject).toBe('approval.decided.acme.c1');
  expect(await first?.ackAck()).toBe(true);
  expect(await second?.ackAck()).toBe(true);
  expect((await jsm.consumers.info(STREAM, executed)).num_ack_pending).toBe(0);
});

test('it stores nothing: neither directly, nor as the reply of what it may send, nor by an acknowledgement', async () => {
  await publish('tool.executed.acme.c2');
  const before = await lastSeq();
  for (const prefix of STREAM_SUBJECTS) {
    const forged = prefix.replace('>', 'probe.acme.forged');
    nc.publish(forged, 'forged');
    nc.publish(`hint.${forged}`, 'forged');
    for (const durable of durableNames(notifier)) {
      nc.publish(`${BUS_API_PREFIX}.CONSUMER.INFO.${STREAM}.${durable}`, '', { reply: forged });
      nc.publish(`${BUS_API_PREFIX}.CONSUMER.MSG.NEXT.${STREAM}.${durable}`, '', { reply: forged });
      nc.publish(`$JS.ACK.${STREAM}.${durable}.1.1.1.1.0`, '+NXT', { reply: forged });
    }
  }
  await nc.flush();
  expect((await publish('run.fence.acme.x')).seq).toBe(before + 1);
});

test('whatever else it publishes is refused aloud, and reaches nobody of its own either', async () => {
  const second = await connect({ servers: bus.url, ...bus.consumerCredentials('notifier') });
  const heard = second.subscribe('>');
  await second.flush();
  for (const subject of ['tool.executed.acme.mine', 'chat.acme', `${BUS_API_PREFIX}.STREAM.INFO.${STREAM}`])
    expect(await answer(subject)).toMatch(/permissions violation/i);
  await second.flush();
  expect(heard.getReceived()).toBe(0);
  await second.close();
});

const mine = {
  stream_name: STREAM,
  config: { durable_name: 'mine', ack_policy: 'explicit', deliver_policy: 'all', replay_policy: 'instant' },
};

test('it reads nothing else, and touches no stream and no consumer', async () => {
  const foreign = [
    ...SERVICES.flatMap((s) => topology[s].consumes.map((pattern) => consumerName(s, pattern))),
    ...durableNames(other),
  ];
  const calls = [
    ...foreign.flatMap((c) => [`CONSUMER.INFO.${STREAM}.${c}`, `CONSUMER.MSG.NEXT.${STREAM}.${c}`]),
    `DIRECT.GET.${STREAM}`,
    `DIRECT.GET.${STREAM}.tool.executed.acme.c1`,
    `STREAM.MSG.GET.${STREAM}`,
    `STREAM.INFO.${STREAM}`,
    `STREAM.PURGE.${STREAM}`,
    `STREAM.DELETE.${STREAM}`,
    `CONSUMER.DELETE.${STREAM}.${executed}`,
    `CONSUMER.DURABLE.CREATE.${STREAM}.mine`,
  ];
  const said = await Promise.all(
    calls.flatMap((c) => {
      const body = c.includes('GET') ? '{"seq":1}' : c.includes('CREATE') ? JSON.stringify(mine) : '';
      // Without the prefix every account sees its own JetStream: there is none.
      return [answer(`${BUS_API_PREFIX}.${c}`, body), answer(`$JS.API.${c}`, body)];
    }),
  );
  for (const text of said) expect(text).toMatch(/permissions violation/i);
  const heard = nc.subscribe('>');
  await nc.flush();
  await publish('tool.started.acme.c3');
  await nc.flush();
  expect(heard.getReceived()).toBe(0);
  heard.unsubscribe();
});

test('nobody else acknowledges for it, nor comes in as it', async () => {
  await publish('tool.executed.acme.c4');
  const stranger = await connect({ servers: bus.url, ...bus.consumerCredentials('other') });
  const own = await jetstream(nc, { apiPrefix: BUS_API_PREFIX }).consumers.get(STREAM, executed);
  const message = await own.next({ expires: 5000 });
  const ack = (message as unknown as { msg: { reply: string } }).msg.reply;
  stranger.publish(ack, '+ACK');
  await stranger.flush();
  await stranger.close();
  expect((await jsm.consumers.info(STREAM, executed)).num_ack_pending).toBeGreaterThan(0);
  const { user } = bus.consumerCredentials('notifier');
  await expect(connect({ servers: bus.url, user, pass: bus.consumerCredentials('other').pass })).rejects.toThrow();
});

test('the example of the page runs as it is printed there, in under 30 lines', async () => {
  const source = await readFile(join(DOCS, 'examples', 'consumer.mjs'), 'utf8');
  expect(source.split('\n').length).toBeLessThan(30);
  expect(await readFile(join(DOCS, 'add-a-consumer.md'), 'utf8')).toContain(`\`\`\`js\n${source}\`\`\``);
  const { user, pass } = bus.consumerCredentials('notifier');
  const consumers = durableNames(notifier).map((name, i) => ({ name, subject: notifier.subjects[i] }));
  const file = join(dir, 'notifier.json');
  const content = { servers: bus.url, user, pass, apiPrefix: BUS_API_PREFIX, stream: STREAM, consumers };
  await writeFile(file, JSON.stringify(content));
  // Where a stranger has installed the packages that it imports.
  await symlink(join(import.meta.dirname, '..', 'node_modules'), join(dir, 'node_modules'));
  await writeFile(join(dir, 'consumer.mjs'), source);
  example = spawn(process.execPath, [join(dir, 'consumer.mjs'), file], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  example.stdout?.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  const event = { id: 'example', type: 'tool.executed', data: { call: { tool: 'Mail' }, status: 'Ok' } };
  const { seq } = await publish('tool.executed.acme.c5', JSON.stringify(event));
  await eventually(() => printed.includes(`${seq} tool.executed Mail Ok\n`), { timeoutMs: 20_000 });
});

test('what is declared no more is taken away, and what is a service stays', async () => {
  await provisionBus({ servers: bus.url, password: bus.credentials('hub').pass, consumers: [other] });
  const names = (await jsm.consumers.list(STREAM).next()).map((c) => c.name);
  expect(names).toContain(durableNames(other)[0]);
  expect(names).toContain('audit__all');
  expect(names).not.toContain(executed);
});
