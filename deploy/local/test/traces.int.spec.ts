import { request } from 'node:http';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startTraceServer } from '../src/traces/trace-server.js';
import { inOrder, scaleOf } from '../src/traces/waterfall.js';

const id = (n: number, digits: number) => n.toString(16).padStart(digits, '0');
const T0 = 1_700_000_000_000;

interface Sent {
  trace: number;
  span: number;
  parent?: number;
  name?: string;
  from?: number;
  ms?: number;
  [more: string]: unknown;
}

const sent = ({ trace, span, parent, name = 'work', from = 0, ms = 1, ...more }: Sent) => ({
  traceId: id(trace, 32),
  spanId: id(span, 16),
  ...(parent === undefined ? {} : { parentSpanId: id(parent, 16) }),
  name,
  kind: 1,
  startTimeUnixNano: `${T0 + from}000000`,
  endTimeUnixNano: `${T0 + from + ms}000000`,
  ...more,
});
const otlp = (spans: unknown[], service = 'engine') => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
      scopeSpans: [{ spans }],
    },
  ],
});

let server: Awaited<ReturnType<typeof startTraceServer>>;
beforeEach(async () => {
  server = await startTraceServer({ port: 0 });
});
afterEach(() => server.stop());

const post = async (body: unknown, type = 'application/json') =>
  (
    await fetch(`${server.url}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  ).status;
const get = async (path: string) => (await fetch(server.url + path)).text();

test('hostile text is text, on both pages, and nothing there may run', async () => {
  const hostile = "\"><script>alert(1)</script><img src=x onerror='y'>\u202e\u0007&";
  const attributes = [{ key: hostile, value: { stringValue: hostile } }];
  expect(await post(otlp([sent({ trace: 1, span: 1, name: hostile, attributes })], hostile))).toBe(200);
  for (const path of ['/', `/traces/${id(1, 32)}`]) {
    const response = await fetch(server.url + path);
    const text = await response.text();
    expect(text).not.toMatch(/<(script|img)|\u202e|\p{Cc}/iu);
    expect(text).toContain('&#34;&#62;&#60;script&#62;');
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'self';/);
  }
});

test('a trace is drawn as a tree over services, failures marked, links clickable where their trace is here', async () => {
  await post(otlp([sent({ trace: 1, span: 1, name: 'request', ms: 9 })]));
  const links = [
    { traceId: id(2, 32), spanId: id(7, 16) },
    { traceId: id(99, 32), spanId: id(7, 16) },
  ];
  await post(
    otlp([sent({ trace: 1, span: 2, parent: 1, name: 'decide', from: 2, links, status: { code: 2 } })], 'staging'),
  );
  await post(otlp([sent({ trace: 2, span: 7, name: 'other' })]));
  const text = await get(`/traces/${id(1, 32)}`);
  expect(text).toMatch(/class="d0">request.*class="failed".*class="d1">decide/s);
  expect(text).toContain(`href="/traces/${id(2, 32)}#${id(7, 16)}"`);
  expect(text).not.toContain(`href="/traces/${id(99, 32)}`);
  expect(await get('/')).toMatch(/other.*request/s);
});

test('what is kept is bounded: the oldest traces go first, a trace that is too long says how much is missing', async () => {
  await post(otlp(Array.from({ length: 300 }, (_, i) => sent({ trace: i + 1, span: 1 }))));
  expect((await get('/')).match(/<tr><td>/g)).toHaveLength(200);
  expect((await fetch(`${server.url}/traces/${id(1, 32)}`)).status).toBe(404);
  await post(otlp(Array.from({ length: 2_100 }, (_, i) => sent({ trace: 1_000, span: i + 1 }))));
  expect(await get(`/traces/${id(1_000, 32)}`)).toContain('100 more spans found no room');
});

test('what is not the wire format is refused whole, what could be sent by a page of the web as well', async () => {
  const good = sent({ trace: 1, span: 1 });
  expect(await post('{')).toBe(400);
  expect(await post(otlp([good, { ...good, traceId: '<script>' }]))).toBe(400);
  expect(await post(otlp([good]), 'text/plain')).toBe(415);
  expect(await get('/')).toContain('Nothing yet');
  const status = await new Promise((resolve) =>
    request(server.url, { headers: { host: 'attacker.example' } }, (r) => resolve(r.resume().statusCode)).end(),
  );
  expect(status).toBe(421);
});

const span = (spanId: string, parentId: string | undefined, from: number, to: number) => ({
  traceId: '',
  spanId,
  parentId,
  name: spanId,
  kind: '',
  service: '',
  pid: '',
  from,
  to,
  failed: false,
  attributes: [],
  links: [],
});

test('every span has its row, also one without its parent and those that are each other’s', () => {
  const spans = [
    span('c', 'b', 3, 4),
    span('b', 'a', 2, 5),
    span('a', undefined, 1, 9),
    span('orphan', 'gone', 0, 1),
    span('x', 'y', 6, 7),
    span('y', 'x', 6, 7),
    span('self', 'self', 8, 8),
  ];
  expect(inOrder(spans).map((r) => `${r.depth}${r.span.name}`)).toEqual([
    '0orphan',
    '0a',
    '1b',
    '2c',
    '0self',
    '0x',
    '0y',
  ]);
});

test('a month of waiting is drawn as a short gap', () => {
  const month = 30 * 24 * 3_600_000;
  const scale = scaleOf([span('a', undefined, 0, 100), span('b', 'a', month, month + 100)]);
  expect(scale.gaps).toHaveLength(1);
  expect(scale.at(0)).toBe(0);
  expect(scale.at(100)).toBeGreaterThan(0.4);
  expect(scale.at(month)).toBeLessThan(0.6);
  expect(scale.at(month + 100)).toBeCloseTo(1);
});
