import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEngine, type TestEngine } from './engine.js';
import { play, scriptOf } from './script.js';
import { startBroker } from './tools/broker.js';

describe('the preview of a held call', () => {
  let engine: TestEngine;
  let broker: Awaited<ReturnType<typeof startBroker>>;
  beforeAll(async () => {
    broker = await startBroker();
    engine = await startEngine({
      tools: ['Orders'],
      env: { ORDERS_URL: broker.url, ORDERS_TOKEN: 'broker-token', VERDICT_TIMEOUT_MS: '500' },
      script: scriptOf({
        place: play(
          'Orders',
          '{"action":"place","instrument":"ACME","side":"sell","quantity":"3","limitPrice":"9.99"}',
        ),
        list: play('Orders', '{"action":"list_open"}'),
      }),
    });
  });
  afterAll(async () => {
    await engine.stop();
    await broker.stop();
  });

  const proposed = async (prompt: string) => {
    const [callId] = await engine.calls(await engine.run(prompt));
    await engine.stored('tool.proposed', callId as string);
    return callId as string;
  };

  it('is what the tool shows of the frozen values, for members of the space, and places nothing', async () => {
    const callId = await proposed('place');
    const { status, body } = await engine.ask('GET', `/v1/calls/${callId}/preview?space=acme`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      callId,
      at: expect.stringMatching(/Z$/),
      preview: { kind: 'facts', facts: expect.arrayContaining([{ label: 'side', value: 'sell' }]) },
    });
    expect(broker.orders.size).toBe(0);
  });

  it('is for nobody else, and of no call of another space', async () => {
    const callId = await proposed('place');
    const asked = async (who: 'ada' | 'mallory', space: string) =>
      (await engine.ask('GET', `/v1/calls/${callId}/preview?space=${space}`, undefined, { who })).body['code'];
    expect(await asked('mallory', 'acme')).toBe('auth.not-found');
    expect(await asked('mallory', 'other')).toBe('engine.no-call');
    expect(await asked('ada', 'nowhere')).toBe('auth.not-found');
  });

  it('says so where a tool has none', async () => {
    const callId = await proposed('list');
    const { body } = await eventually(() => engine.ask('GET', `/v1/calls/${callId}/preview?space=acme`));
    expect(body).toMatchObject({ preview: null, note: 'This tool shows no preview.' });
  });
});
