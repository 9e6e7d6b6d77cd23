import {
  catalogue,
  checkStream,
  type HoldpointEvent,
  type ServiceName,
  type StreamMessage,
} from '@holdpoint/contracts';
import { startBus, type TestBus } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { CallMaker, RunMaker, stored } from '../../libs/contracts/test/chain/make.js';
import { World } from '../../libs/contracts/test/chain/world.js';
import { Installation } from './holdpoint.js';

let bus: TestBus;
let at: Installation;
beforeAll(async () => {
  bus = await startBus();
  at = await Installation.open();
  at.nats = { url: bus.url, ...bus.credentials('checker') };
  await at.write();
});
afterAll(async () => {
  await at.close();
  await bus.stop();
});

/** Stores each event through the account of the service that alone may. */
async function store(messages: StreamMessage[]): Promise<void> {
  const names: ServiceName[] = ['agent-engine', 'policy', 'staging', 'taskboard'];
  const connections = new Map(
    await Promise.all(names.map(async (n) => [n, await connect({ servers: bus.url, ...bus.credentials(n) })] as const)),
  );
  try {
    for (const m of messages) {
      const event = ('json' in m && m.json) as HoldpointEvent;
      const ack = await connections.get(catalogue[event.type].publisher)?.request(m.subject, JSON.stringify(event));
      expect(ack?.json()).toMatchObject({ seq: m.seq });
    }
  } finally {
    for (const nc of connections.values()) await nc.close();
  }
}

/** The same each time, and longer than what is read at once. */
function longStory(): StreamMessage[] {
  for (let state = 1; ; ) {
    const tape = Array.from({ length: 200 }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 16;
    });
    const story = stored(new World(tape).settle().stream);
    if (story.length > 100) return story;
  }
}
const story = longStory();
const run = new RunMaker('forger', { conversationId: 'forged' });
const call = new CallMaker('forged', run);

it('finds nothing in an empty stream, and nothing in a valid one', async () => {
  expect(await at.holdpoint('check')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The stream is empty.'),
  });

  await store(story);
  const told = await at.holdpoint('check', '--settled');
  expect(told).toMatchObject({ code: 0, stderr: '' });
  expect(told.stdout).toContain(`${story.length} messages, sequences 1 to ${story.length}.`);
  expect(told.stdout).toContain('Every rule holds.');
  const json = await at.holdpoint('check', '--settled', '--json');
  expect(JSON.parse(json.stdout)).toEqual(checkStream(story, { settled: true }));
});

it('finds what was executed and never released', async () => {
  const forged = [run.queued(), run.started(), call.proposed(), call.executed('Ok')];
  await store(stored(forged).map((m) => ({ ...m, seq: m.seq + story.length })));
  const told = await at.holdpoint('check');
  expect(told).toMatchObject({ code: 1, stderr: '' });
  expect(told.stdout).toMatch(/\d+ +call\.not-released +call\/forged +tool\.executed Ok while the call is proposed/);
  expect(told.stdout).toMatch(/run\/forger +acme +running/);
  const json = await at.holdpoint('check', '--json');
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout).violations).toHaveLength(1);
});

it('reads under an account that the bus knows, and says so otherwise', async () => {
  at.nats = { ...at.nats, pass: 'wrong' };
  await at.write();
  const told = await at.holdpoint('check');
  expect(told).toMatchObject({ code: 1, stdout: '' });
  expect(told.stderr).toContain('[cli.token-refused]');
});
