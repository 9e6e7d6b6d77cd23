import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';

const FIXTURES = join(import.meta.dirname, 'fixtures');
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

interface Exported {
  resourceSpans: {
    resource: { attributes: { key: string; value: Record<string, unknown> }[] };
    scopeSpans: { spans: { traceId: string; parentSpanId?: string; name: string }[] }[];
  }[];
}

let dir: string;
let collector: Server;
let endpoint: string;
let bodies: string[];
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'holdpoint-telemetry-'));
  writeFileSync(join(dir, 'identities.json'), JSON.stringify({ people: [], services: [] }), { mode: 0o600 });
  collector = createServer(async (request, response) => {
    bodies.push(await text(request));
    response.setHeader('content-type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
});
beforeEach(() => {
  bodies = [];
});
afterAll(() => {
  collector.close();
  rmSync(dir, { recursive: true });
});

/** A service that is asked once, with a trace context, and then told to end. */
async function aLife(env: NodeJS.ProcessEnv): Promise<{ code: number | null; loaded: string[]; ms: number }> {
  const child = fork(join(FIXTURES, 'service.mjs'), {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: ['--import', join(FIXTURES, 'loaded.mjs')],
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      HOLDPOINT_IDENTITY_FILE: join(dir, 'identities.json'),
      HOLDPOINT_SERVICE_TOKEN: 'the-token-of-the-service',
      ...env,
    },
  });
  const out = text(child.stdout as NodeJS.ReadableStream & AsyncIterable<Buffer>);
  const err = text(child.stderr as NodeJS.ReadableStream & AsyncIterable<Buffer>);
  let said = '';
  child.stdout?.on('data', (d) => {
    said += d;
  });
  await once(child, 'message');
  const url = /ready at (http:[^"]+)/.exec(said)?.[1]?.replace('[::1]', '127.0.0.1');
  child.send('release');
  const asked = await fetch(`${url}/work/slow?token=hush`, {
    headers: { traceparent: `00-${TRACE}-${CALLER}-01`, tracestate: 'vendor=hush', baggage: 'secret=hush' },
  });
  expect(asked.status).toBe(200);
  await fetch(`${url}/healthz`).then((r) => r.text());
  const from = performance.now();
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  await out;
  return { code, loaded: JSON.parse(await err) as string[], ms: performance.now() - from };
}

test.each([
  ['no endpoint is named', {}],
  ['it is switched off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }],
  ['no exporter is wanted', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_TRACES_EXPORTER: 'none' }],
])('where %s the SDK is not even loaded', async (_why, env) => {
  expect(await aLife(env)).toMatchObject({ code: 0, loaded: [] });
});

test('a request is a span of the caller’s trace, sent before the end; no query, no foreign text, no probe', async () => {
  const life = await aLife({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_RESOURCE_ATTRIBUTES: 'deployment=here' });
  expect(life).toMatchObject({ code: 0, loaded: expect.arrayContaining(['sdk-node']) });
  const exported = bodies.map((b) => JSON.parse(b) as Exported);
  const spans = exported.flatMap((e) => e.resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)));
  expect(spans).toEqual([expect.objectContaining({ name: 'GET /work/slow', traceId: TRACE, parentSpanId: CALLER })]);
  expect(bodies.join()).not.toContain('hush');
  const resource = exported[0]?.resourceSpans[0]?.resource.attributes.map((a) => a.key) ?? [];
  expect(resource).toEqual(expect.arrayContaining(['service.name', 'process.pid', 'deployment']));
  expect(resource).not.toContain('process.command_args');
});

test('a collector that is away holds up neither work nor the end for long', async () => {
  const { code, ms } = await aLife({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  expect(code).toBe(0);
  expect(ms).toBeLessThan(8_000);
});
