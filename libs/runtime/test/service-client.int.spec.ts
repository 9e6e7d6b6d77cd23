import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { z } from 'zod';
import { isInfrastructureFault, Refusal, serviceClient, Unavailable } from '../src/index.js';

const answers: Server[] = [];
afterEach(() => {
  for (const server of answers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function client(listener: RequestListener, timeoutMs = 2_000) {
  const server = createServer(listener);
  answers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return serviceClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: 'the-token',
    timeoutMs,
  });
}
const answer =
  (status: number, body: unknown): RequestListener =>
  (_, response) =>
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body));
const reply = z.object({ verdict: z.string() });
const failure = async (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (err: unknown) => err,
  );

test('sends token and body, and holds the answer against the schema', async () => {
  const seen: unknown[] = [];
  const ask = await client((request, response) => {
    let body = '';
    request.on('data', (d) => {
      body += d;
    });
    request.on('end', () => {
      seen.push([request.method, request.url, request.headers.authorization, request.headers['content-type'], body]);
      answer(200, { verdict: 'auto', later: 1 })(request, response as never);
    });
  });
  expect(await ask.post('/v1/check?x=1', { callId: 'c1' }, reply)).toEqual({ verdict: 'auto' });
  expect(await ask.get('/v1/check', reply)).toEqual({ verdict: 'auto' });
  expect(seen).toEqual([
    ['POST', '/v1/check?x=1', 'Bearer the-token', 'application/json', '{"callId":"c1"}'],
    ['GET', '/v1/check', 'Bearer the-token', undefined, ''],
  ]);
});

test('a refusal is the refusal it was over there', async () => {
  const ask = await client(
    answer(409, {
      type: 'urn:holdpoint:problem:staging.call-closed',
      title: 'Conflict',
      status: 409,
      detail: 'Ada decided it.',
      code: 'staging.call-closed',
      decidedBy: 'ada',
    }),
  );
  const err = await failure(ask.get('/', reply));
  expect(err).toBeInstanceOf(Refusal);
  expect(err).toMatchObject({
    kind: 'conflict',
    code: 'staging.call-closed',
    detail: 'Ada decided it.',
    extras: { decidedBy: 'ada' },
  });
  expect(isInfrastructureFault(err)).toBe(false);
});

test('a 4xx that is no problem is a refusal all the same', async () => {
  const err = await failure((await client(answer(404, '<html>'))).get('/', reply));
  expect(err).toMatchObject({ name: 'Refusal', kind: 'not-found', code: 'http.refused' });
});

test.each([
  ['it fails', answer(500, { verdict: 'auto' })],
  ['it is not ready', answer(503, {})],
  ['it is too busy', answer(429, {})],
  ['our own token is not known there', answer(401, {})],
  ['the answer has another shape', answer(200, { verdict: 1 })],
  ['the answer is no JSON', answer(200, 'auto')],
  [
    'it sends us elsewhere',
    (_: unknown, r: Parameters<RequestListener>[1]) => void r.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  ],
  ['it hangs up', (request: Parameters<RequestListener>[0]) => void request.socket.destroy()],
] as [string, RequestListener][])('unavailable when %s', async (_, listener) => {
  const err = await failure((await client(listener)).get('/', reply));
  expect(err).toBeInstanceOf(Unavailable);
  expect(isInfrastructureFault(err)).toBe(true);
});

test('unavailable when it is silent, also in the middle of the answer', async () => {
  const silent = await client(() => {}, 100);
  expect(await failure(silent.get('/', reply))).toBeInstanceOf(Unavailable);
  const halting = await client((_, response) => void response.writeHead(200).write('{"verdict":'), 100);
  expect(await failure(halting.get('/', reply))).toBeInstanceOf(Unavailable);
});

test('unavailable when nobody is there', async () => {
  const nobody = serviceClient({ baseUrl: 'http://127.0.0.1:1', token: 't', timeoutMs: 1_000 });
  expect(await failure(nobody.get('/', reply))).toBeInstanceOf(Unavailable);
});

test('the token goes nowhere else, whatever the path', async () => {
  const ask = await client(answer(200, { verdict: 'auto' }));
  await expect(ask.get('//evil.example/x', reply)).rejects.toThrow('another origin');
  await expect(ask.get('http://evil.example/', reply)).rejects.toThrow('another origin');
});
