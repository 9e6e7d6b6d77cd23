import { consumerName, type ServiceName, STREAM, STREAM_SUBJECTS, topology } from '@holdpoint/contracts';
import { BUS_API_PREFIX, BUS_USERS, type BusUser, provisionBus, SERVICES } from '@holdpoint/provision';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { eventually, startBus, type TestBus } from '../src/index.js';

/** `run.>` → `run.probe.acme.<id>` */
const subjectIn = (pattern: string, id: string) => pattern.replace('>', `probe.acme.${id}`);
const api = (call: string) => `${BUS_API_PREFIX}.${call}`;

let bus: TestBus;
const clients = {} as Record<BusUser, NatsConnection>;
let hub: JetStreamManager;

beforeAll(async () => {
  bus = await startBus();
  for (const user of BUS_USERS)
    clients[user] = await connect({
      servers: bus.url,
      ...bus.credentials(user),
      name: user,
      reconnectTimeWait: 50,
    });
  hub = await jetstreamManager(clients.hub, { timeout: 1000 });
});

afterAll(async () => {
  for (const nc of Object.values(clients)) await nc.close();
  await bus?.stop();
});

const lastSeq = async () => (await hub.streams.info(STREAM)).state.last_seq;
const publish = (user: BusUser, subject: string) =>
  jetstream(clients[user]).publish(subject, `by ${user}`, { timeout: 1000 });

/** Nothing that `attempt` sent is stored: what the hub stores after it directly follows what was stored before. */
async function storesNothing(user: BusUser, attempt: () => unknown) {
  const before = await lastSeq();
  await attempt();
  await clients[user].flush();
  const { seq } = await publish('hub', `run.fence.acme.${before + 1}`);
  expect(seq).toBe(before + 1);
}

const newConsumer = {
  stream_name: STREAM,
  config: { durable_name: 'other', ack_policy: 'explicit', deliver_policy: 'all', replay_policy: 'instant' },
};

async function hubsView() {
  const streams = await hub.streams.list().next();
  const consumers = await hub.consumers.list(STREAM).next();
  return { streams: streams.map((s) => [s.config, s.state]), consumers: consumers.map((c) => c.name) };
}

async function answer(user: BusUser, subject: string, body = ''): Promise<string> {
  try {
    return (await clients[user].request(subject, body, { timeout: 500 })).string();
  } catch (err) {
    if (err instanceof Error && /no responders|timeout/i.test(err.message)) return 'nobody answers';
    throw err;
  }
}

describe.each(SERVICES)('%s', (service) => {
  const { publishes, consumes, readsLeader } = topology[service];
  const foreign = STREAM_SUBJECTS.filter((subject) => !publishes.includes(subject));

  test('publishes its own subjects and reads them back', async () => {
    for (const pattern of publishes) {
      const subject = subjectIn(pattern, 'own');
      const { seq } = await publish(service, subject);
      const stored = await hub.streams.getMessage(STREAM, { seq });
      expect(stored?.subject).toBe(subject);
      const back = await clients[service].request(api(`DIRECT.GET.${STREAM}.${subject}`));
      expect(back.string()).toBe(`by ${service}`);
    }
  });

  test('publishes nothing else, neither directly nor as the reply of what it may send', async () => {
    const own = publishes.map((pattern) => subjectIn(pattern, 'own'));
    await storesNothing(service, () => {
      const nc = clients[service];
      for (const pattern of foreign) {
        const subject = subjectIn(pattern, 'forged');
        nc.publish(subject, 'forged');
        for (const mine of own) nc.publish(api(`DIRECT.GET.${STREAM}.${mine}`), '', { reply: subject });
        for (const consumed of consumes)
          nc.publish(api(`CONSUMER.INFO.${STREAM}.${consumerName(service, consumed)}`), '', {
            reply: subject,
          });
        nc.publish(api(`STREAM.MSG.GET.${STREAM}`), '{"seq":1}', { reply: subject });
        nc.publish(api(`DIRECT.GET.${STREAM}`), '{"seq":1}', { reply: subject });
      }
    });
    // A publish with a foreign reply is stored under its own subject; its acknowledgement is not stored at all.
    for (const mine of own) {
      const before = await lastSeq();
      clients[service].publish(mine, 'own', { reply: subjectIn(foreign[0] as string, 'forged') });
      await clients[service].flush();
      await eventually(async () => (await lastSeq()) === before + 1);
      const { seq } = await publish('hub', `run.fence.acme.${before}`);
      expect(seq).toBe(before + 2);
    }
  });

  test('touches no stream and no consumer', async () => {
    const before = await hubsView();
    const calls: readonly (readonly [string, object?])[] = [
      ['STREAM.CREATE.OTHER', { name: 'OTHER', subjects: ['other.>'], retention: 'limits', storage: 'file' }],
      [`STREAM.UPDATE.${STREAM}`, { name: STREAM, subjects: ['>'] }],
      [`STREAM.DELETE.${STREAM}`],
      [`STREAM.PURGE.${STREAM}`],
      [`STREAM.MSG.DELETE.${STREAM}`, { seq: 1 }],
      [`CONSUMER.DURABLE.CREATE.${STREAM}.other`, newConsumer],
      [`CONSUMER.CREATE.${STREAM}.other`, newConsumer],
      [`CONSUMER.DELETE.${STREAM}.audit__all`],
      ...(readsLeader ? [] : [[`STREAM.MSG.GET.${STREAM}`, { seq: 1 }] as const]),
      ...(service === 'audit' ? [] : [[`DIRECT.GET.${STREAM}`, { seq: 1 }] as const]),
      ...foreignConsumers(service).flatMap((c) => [
        [`CONSUMER.INFO.${STREAM}.${c}`] as const,
        [`CONSUMER.MSG.NEXT.${STREAM}.${c}`] as const,
      ]),
    ];
    const answers = await Promise.all(
      calls.flatMap(([call, body]) => {
        const json = body ? JSON.stringify(body) : '';
        // Without the prefix every account sees its own JetStream: there is none.
        return [answer(service, api(call), json), answer(service, `$JS.API.${call}`, json)];
      }),
    );
    for (const said of answers) expect(said).toMatch(/nobody answers|not enabled for account/);
    expect(await hubsView()).toEqual(before);
  });

  test('takes and acknowledges from its own consumers', async () => {
    for (const pattern of consumes) {
      const name = consumerName(service, pattern);
      const subject = pattern === '>' ? 'run.probe.acme.pull' : pattern.replace('>', 'acme.pull');
      await publish('hub', subject);
      const js = jetstream(clients[service], { apiPrefix: BUS_API_PREFIX });
      const consumer = await js.consumers.get(STREAM, name);
      const message = await consumer.next({ expires: 5000 });
      expect(await message?.ackAck()).toBe(true);
      await eventually(async () => {
        const info = await hub.consumers.info(STREAM, name);
        return info.ack_floor.stream_seq === message?.seq;
      });
    }
  });

  test('acknowledges nothing of others', async () => {
    for (const other of foreignConsumers(service)) {
      const pattern = (await hub.consumers.info(STREAM, other)).config.filter_subject ?? 'run.>';
      await publish('hub', pattern.replace('>', 'acme.pending'));
      const consumer = await jetstream(clients.hub).consumers.get(STREAM, other);
      const message = await consumer.next({ expires: 5000 });
      const reply = (message as unknown as { msg: { reply: string } }).msg.reply;
      expect(reply).toContain(`$JS.ACK.${STREAM}.${other}.`);
      for (const word of ['+ACK', '+TERM', '-NAK']) clients[service].publish(reply, word);
      await clients[service].flush();
      expect((await hub.consumers.info(STREAM, other)).num_ack_pending).toBe(1);
      expect(await message?.ackAck()).toBe(true);
    }
  });

  test('hears its hints live', async () => {
    for (const pattern of topology[service].hints) {
      const subject = pattern.replace('>', 'acme.hint');
      const heard = clients[service].subscribe(subject, { max: 1, timeout: 5000 });
      await clients[service].flush();
      const owner = SERVICES.find((s) => topology[s].publishes.includes(`${subject.split('.')[0]}.>`));
      const { seq } = await publish(owner as ServiceName, subject);
      for await (const hint of heard) {
        expect(hint.subject).toBe(subject);
        expect(hint.headers?.get('Nats-Sequence')).toBe(String(seq));
        expect(hint.string()).toBe('');
      }
      expect(heard.getReceived()).toBe(1);
    }
  });
});

const foreignConsumers = (service: ServiceName) =>
  SERVICES.filter((s) => s !== service).flatMap((s) => topology[s].consumes.map((pattern) => consumerName(s, pattern)));

test('kannon#427: no consumer has a backoff in place of its acknowledgement wait, not even one that had it', async () => {
  const names = SERVICES.flatMap((s) => topology[s].consumes.map((pattern) => consumerName(s, pattern)));
  const waits = async () => {
    const infos = await Promise.all(names.map((name) => hub.consumers.info(STREAM, name)));
    return infos.map(({ config: c }) => ({
      ack_wait: c.ack_wait,
      backoff: c.backoff ?? [],
      max_deliver: c.max_deliver,
    }));
  };
  const whole = names.map(() => ({ ack_wait: 10_000_000_000, backoff: [], max_deliver: -1 }));
  expect(await waits()).toEqual(whole);
  const [first = ''] = names;
  await hub.consumers.update(STREAM, first, { backoff: [1_000_000_000, 2_000_000_000], max_deliver: 5 });
  expect((await waits())[0]).toMatchObject({ ack_wait: 1_000_000_000 });
  await provisionBus({ servers: bus.url, password: bus.credentials('hub').pass });
  expect(await waits()).toEqual(whole);
});

test('the checker reads every message and changes nothing', async () => {
  const { seq } = await publish('hub', 'task.probe.acme.checked');
  const nc = clients.checker;
  const js = await jetstreamManager(nc, { apiPrefix: BUS_API_PREFIX, checkAPI: false });
  expect((await js.streams.info(STREAM)).state.last_seq).toBe(seq);
  expect((await js.direct.getMessage(STREAM, { seq }))?.subject).toBe('task.probe.acme.checked');
  expect((await js.direct.getMessage(STREAM, { last_by_subj: 'task.probe.acme.checked' }))?.seq).toBe(seq);
  await storesNothing('checker', () => {
    for (const pattern of STREAM_SUBJECTS) {
      const subject = subjectIn(pattern, 'forged');
      nc.publish(subject, 'forged');
      nc.publish(api(`DIRECT.GET.${STREAM}`), `{"seq":${seq}}`, { reply: subject });
    }
  });
  expect(await answer('checker', api(`STREAM.DELETE.${STREAM}`))).toBe('nobody answers');
});

test('nobody comes in without a password, and no service as another', async () => {
  await expect(connect({ servers: bus.url })).rejects.toThrow();
  await expect(connect({ servers: bus.url, user: 'policy', pass: bus.credentials('staging').pass })).rejects.toThrow();
});

test('the stream keeps what it holds over a killed server, on the same port', async () => {
  const { seq } = await publish('staging', 'call.probe.acme.kept');
  await bus.kill9();
  await bus.restart();
  const stored = await eventually(() => hub.streams.getMessage(STREAM, { seq }), { timeoutMs: 20_000 });
  expect(stored?.string()).toBe('by staging');
});
