import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseArguments } from '../../src/domain/arguments/parse.js';
import { ordersTool } from '../../src/tools/orders/index.js';
import { ToolRegistry } from '../../src/tools/registry.js';
import type { ToolAction, ToolContext } from '../../src/tools/tool.js';
import { startBroker } from './broker.js';

describe('Orders', () => {
  let broker: Awaited<ReturnType<typeof startBroker>>;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());
  beforeEach(() => {
    broker.orders.clear();
    broker.fail('none');
  });

  const call = (name: string, url = broker.url) => {
    const tool = ordersTool({ ORDERS_URL: url, ORDERS_TOKEN: 'broker-token' });
    return tool.actions.find((a) => a.name === name) as ToolAction;
  };
  const order = { action: 'place', instrument: 'ACME', side: 'buy', quantity: '10', limitPrice: '12.50' };
  const ctx = (callId: string, more: Partial<ToolContext> = {}): ToolContext => ({
    callId,
    spaceId: 'acme',
    attempt: 1,
    signal: AbortSignal.timeout(5_000),
    ...more,
  });

  it('places one order under the key of the call, however often it is asked', async () => {
    expect(await call('place').run(order, ctx('c1'))).toEqual({ kind: 'done', result: '{"order":1}' });
    expect((await call('place').run(order, ctx('c1', { attempt: 2 }))).kind).toBe('done');
    expect([...broker.orders.keys()]).toEqual(['c1']);
    expect(broker.orders.get('c1')).toEqual({ instrument: 'ACME', side: 'buy', quantity: '10', limitPrice: '12.50' });
    const listed = await call('list_open').run({ action: 'list_open' }, ctx('c2'));
    expect(listed).toMatchObject({ kind: 'done', result: expect.stringContaining('ACME') });
  });

  it.each([
    ['refuse', 'did-not-happen', 0],
    ['trouble', 'unknown', 0],
    ['cut', 'unknown', 1],
  ] as const)('a broker that says %s: %s', async (how, kind, placed) => {
    broker.fail(how);
    expect((await call('place').run(order, ctx('c1'))).kind).toBe(kind);
    expect(broker.orders.size).toBe(placed);
  });

  it('nothing is sent without a lease, nor to nobody', async () => {
    const late = await call('place').run(order, ctx('c1', { stillLeased: () => false }));
    expect(late.kind).toBe('did-not-happen');
    expect(broker.orders.size).toBe(0);
    const gone = await startBroker();
    await gone.stop();
    expect((await call('place', gone.url).run(order, ctx('c1'))).kind).toBe('did-not-happen');
  });

  it.each([
    ['{"action":"place","instrument":"ACME","side":"buy","quantity":10,"limitPrice":"1"}', '"quantity"'],
    ['{"action":"place","instrument":"ACME","side":"buy","quantity":"0.00","limitPrice":"1"}', '"quantity"'],
    ['{"action":"place","instrument":"ACME","side":"hold","quantity":"1","limitPrice":"1"}', '"side"'],
    ['{"action":"place","instrument":"../x","side":"buy","quantity":"1","limitPrice":"1"}', '"instrument"'],
  ])('refuses %s, and names the field', (text, field) => {
    const tool = ordersTool({ ORDERS_URL: broker.url });
    const resolved = new ToolRegistry([tool]).resolve(tool, parseArguments(text));
    expect(resolved).toMatchObject({ ok: false, code: 'arguments.schema', message: expect.stringContaining(field) });
  });

  it('shows the order to whoever decides', async () => {
    const preview = await call('place').preview?.(order, ctx('c1'));
    expect(preview).toMatchObject({
      kind: 'facts',
      facts: expect.arrayContaining([{ label: 'limitPrice', value: '12.50' }]),
    });
  });
});
