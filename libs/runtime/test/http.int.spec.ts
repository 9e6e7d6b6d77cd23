import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Identity, problem, token } from '@holdpoint/contracts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Body, Controller, Get, type INestApplication, Logger, Module, Param, Post, Query } from '@nestjs/common';
import { z } from 'zod';
import {
  ContentDestroyed,
  createService,
  Refusal,
  registerHealth,
  requireRole,
  ServicesOnly,
  sha256Hex,
  Unavailable,
  unguardedRoutes,
  Who,
} from '../src/index.js';

const order = z.strictObject({ to: z.string().min(1), lines: z.array(z.strictObject({ count: z.int() })) });

@Controller('v1')
class Orders {
  @Post('orders')
  place(@Body({ schema: order }) body: z.infer<typeof order>) {
    return body;
  }
  @Get('orders/:id')
  show(@Param('id', { schema: token }) id: string, @Who() who: Identity) {
    return { id, who };
  }
  @Get('orders')
  list(@Query({ schema: z.strictObject({ limit: z.coerce.number().int().max(10).optional() }) }) query: object) {
    return query;
  }
  @Get('spaces/:space')
  space(@Param('space', { schema: token }) space: string, @Who() who: Identity) {
    requireRole(who, space, 'owner');
    return { space };
  }
  @Get('internal')
  @ServicesOnly('staging')
  internal() {
    return { ok: true };
  }
  @Get('any-service')
  @ServicesOnly()
  anyService() {
    return { ok: true };
  }
  @Post('unchecked')
  unchecked(@Body() body: unknown) {
    return body;
  }
  @Get('fails/:how')
  fails(@Param('how', { schema: token }) how: string) {
    switch (how) {
      case 'conflict':
        throw new Refusal('conflict', 'orders.closed', 'It was closed; open a new one.', { extras: { by: 'ada' } });
      case 'erased':
        throw new ContentDestroyed('dk_1 was destroyed');
      case 'away':
        throw new Unavailable('policy is away at 10.0.0.7');
      case 'unanswered':
        throw new Refusal('unavailable', 'orders.policy-unavailable', 'Policy does not answer; ask again.', {
          cause: new Unavailable('policy is away at 10.0.0.8'),
        });
      case 'nul':
        throw Object.assign(new Error('invalid byte sequence for encoding "UTF8": 0x00'), { code: '22021' });
      case 'database':
        throw Object.assign(new Error('terminating connection'), { code: '57P01' });
      default:
        throw new Error('the inner secret \u001b[31m');
    }
  }
}

@Module({ controllers: [Orders] })
class OrdersModule {}

let dir: string;
let app: INestApplication;
let url: string;
const logged: string[] = [];
const write = process.stdout.write;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'holdpoint-http-'));
  const identityFile = join(dir, 'identities.json');
  writeFileSync(
    identityFile,
    JSON.stringify({
      people: [{ id: 'ada', name: 'Ada', spaces: { acme: 'owner', side: 'member' }, tokenSha256: sha256Hex('ada') }],
      services: [
        { id: 'staging', tokenSha256: sha256Hex('staging') },
        { id: 'audit', tokenSha256: sha256Hex('audit') },
      ],
    }),
    { mode: 0o600 },
  );
  process.stdout.write = ((text: string) => logged.push(text) > 0) as typeof write;
  app = await createService({
    name: 'orders',
    module: OrdersModule,
    config: { HOST: '127.0.0.1', PORT: 0, HOLDPOINT_IDENTITY_FILE: identityFile, LOG_LEVEL: 'warn' },
  });
  url = await app.getUrl();
});
afterAll(async () => {
  process.stdout.write = write;
  await app.close();
  Logger.overrideLogger(false);
  rmSync(dir, { recursive: true });
});

interface Ask extends RequestInit {
  as?: string | undefined;
  json?: unknown;
}
function ask(path: string, { as = 'ada', json, ...init }: Ask = {}) {
  const headers = new Headers(init.headers);
  if (as !== '') headers.set('authorization', `Bearer ${as}`);
  if (json !== undefined) headers.set('content-type', 'application/json');
  return fetch(`${url}${path}`, {
    ...init,
    headers,
    ...(json !== undefined && { method: 'POST', body: JSON.stringify(json) }),
  });
}
async function problemOf(path: string, init?: Ask) {
  const response = await ask(path, init);
  expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  const body = problem.loose().parse(await response.json());
  expect(body.status).toBe(response.status);
  expect(body.detail).toBeTruthy();
  return { ...body, headers: response.headers };
}

describe('identity', () => {
  test('a known token says who it is', async () => {
    expect(await (await ask('/v1/orders/o1')).json()).toEqual({
      id: 'o1',
      who: { kind: 'person', id: 'ada', name: 'Ada', spaces: { acme: 'owner', side: 'member' } },
    });
  });
  test('none: 401 and how to send one', async () => {
    const none = await problemOf('/v1/orders/o1', { as: '' });
    expect(none).toMatchObject({ status: 401, code: 'auth.token-missing' });
    expect(none.headers.get('www-authenticate')).toBe('Bearer realm="holdpoint"');
    const basic = await problemOf('/v1/orders/o1', { as: '', headers: { authorization: 'Basic YWRhOmFkYQ==' } });
    expect(basic).toMatchObject({ status: 401, code: 'auth.token-missing' });
  });
  test('an unknown one: 401', async () => {
    const unknown = await problemOf('/v1/orders/o1', { as: 'adA' });
    expect(unknown).toMatchObject({ status: 401, code: 'auth.token-unknown' });
    expect(unknown.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });
  test('identity is asked for before the input is judged', async () => {
    expect((await problemOf('/v1/orders', { as: '', json: { wrong: true } })).status).toBe(401);
  });
  test('roles: another space is not there, a lower role is forbidden', async () => {
    expect((await ask('/v1/spaces/acme')).status).toBe(200);
    expect(await problemOf('/v1/spaces/other')).toMatchObject({ status: 404, code: 'auth.not-found' });
    expect(await problemOf('/v1/spaces/side')).toMatchObject({ status: 403, code: 'auth.role-missing' });
    expect(await problemOf('/v1/spaces/acme', { as: 'staging' })).toMatchObject({
      status: 403,
      code: 'auth.people-only',
    });
  });
  test("services' routes", async () => {
    expect((await ask('/v1/internal', { as: 'staging' })).status).toBe(200);
    expect(await problemOf('/v1/internal', { as: 'audit' })).toMatchObject({ status: 403, code: 'auth.services-only' });
    expect((await problemOf('/v1/internal')).status).toBe(403);
    expect((await ask('/v1/any-service', { as: 'audit' })).status).toBe(200);
    expect((await problemOf('/v1/any-service')).status).toBe(403);
  });
  test('only health is public', async () => {
    expect(await unguardedRoutes(app)).toEqual(['GET /healthz', 'GET /metrics', 'GET /readyz']);
  });
});

describe('input', () => {
  test('what fits arrives', async () => {
    const response = await ask('/v1/orders', { json: { to: 'bob', lines: [{ count: 1 }] } });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ to: 'bob', lines: [{ count: 1 }] });
    expect(await (await ask('/v1/orders?limit=3')).json()).toEqual({ limit: 3 });
  });
  test('400 names each field', async () => {
    const wrong = await problemOf('/v1/orders', { json: { lines: [{ count: 1 }, { count: '2', x: 1 }], extra: 1 } });
    expect(wrong).toMatchObject({ status: 400, code: 'request.invalid' });
    expect(wrong.errors?.map((e) => e.field).sort()).toEqual(['extra', 'lines.1.count', 'lines.1.x', 'to']);
    expect((await problemOf('/v1/orders/UPPER')).errors?.[0]?.field).toBe('id');
    expect((await problemOf('/v1/orders?limit=11')).errors?.[0]?.field).toBe('limit');
    expect((await problemOf('/v1/orders?order=up')).errors?.[0]?.field).toBe('order');
    expect((await problemOf('/v1/orders', { method: 'POST' })).errors?.[0]?.field).toBe('body');
  });
  test('a key that is there twice: 400 names it, whichever would have won', async () => {
    const answer = await problemOf('/v1/orders', {
      method: 'POST',
      body: '{"to":"bob","lines":[{"count":1,"c\\u006funt":2}]}',
      headers: { 'content-type': 'application/json' },
    });
    expect(answer).toMatchObject({ status: 400, code: 'request.repeated-key', errors: [{ field: 'lines.0.count' }] });
  });
  test('a route that checks nothing serves nothing', async () => {
    expect((await problemOf('/v1/unchecked', { json: {} })).status).toBe(500);
  });
  test.each([
    ['half a body', '{"to":', 'application/json', 400, 'http.malformed'],
    ['an empty body', '', 'application/json', 400, 'http.malformed'],
    ['a poisoned prototype', '{"__proto__":{"a":1}}', 'application/json', 400, 'http.malformed'],
    ['a deep body', `{"to":${'['.repeat(500_000)}`, 'application/json', 400, 'http.malformed'],
    ['another media type', '<a/>', 'application/xml', 415, 'http.unsupported-media-type'],
    ['plain text', 'x', 'text/plain', 415, 'http.unsupported-media-type'],
    ['a form', 'to=bob', 'application/x-www-form-urlencoded', 415, 'http.unsupported-media-type'],
    ['over 1 MiB', JSON.stringify({ to: 'x'.repeat(1024 * 1024) }), 'application/json', 413, 'http.body-too-large'],
  ])('%s', async (_, body, type, status, code) => {
    const answer = await problemOf('/v1/orders', { method: 'POST', body, headers: { 'content-type': type } });
    expect(answer).toMatchObject({ status, code, type: 'about:blank' });
  });
  test.each([
    ['an unknown route', '/v2/orders', 404, 'http.no-such-route'],
    ['an unknown method', '/v1/internal', 404, 'http.no-such-route'],
    ['a URL that is none', '/v1/orders/%zz', 400, 'http.malformed'],
    ['an endless id', `/v1/orders/${'x'.repeat(600)}`, 414, 'http.url-too-long'],
  ])('%s', async (_, path, status, code) => {
    const method = path === '/v1/internal' ? 'DELETE' : 'GET';
    expect(await problemOf(path, { method })).toMatchObject({ status, code });
  });
  test('what is no HTTP at all', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () =>
        socket.write('GET / HTTP/1.1\r\nbad header\r\n\r\n'),
      );
      socket.setEncoding('utf8').on('data', (d) => {
        text += d;
      });
      socket.on('end', () => resolve(text)).on('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\ncontent-type: application\/problem\+json/);
    expect(problem.parse(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).code).toBe('http.malformed');
  });
});

describe('refusals and faults', () => {
  test('409 with who', async () => {
    expect(await problemOf('/v1/fails/conflict')).toMatchObject({
      type: 'urn:holdpoint:problem:orders.closed',
      title: 'Conflict',
      status: 409,
      by: 'ada',
    });
  });
  test('text that cannot be stored: 400', async () => {
    expect(await problemOf('/v1/fails/nul')).toMatchObject({ status: 400, code: 'request.nul-character' });
  });
  test('erased content: 410', async () => {
    expect(await problemOf('/v1/fails/erased')).toMatchObject({ status: 410, code: 'content.destroyed' });
  });
  test.each(['away', 'database'])(
    'a dependency that is %s: 503, when to come back, and no inner detail',
    async (how) => {
      const away = await problemOf(`/v1/fails/${how}`);
      expect(away).toMatchObject({ status: 503, code: 'service.unavailable' });
      expect(away.headers.get('retry-after')).toBe('2');
      expect(JSON.stringify(away)).not.toMatch(/10\.0\.0\.7|terminating/);
    },
  );
  test('a refusal because something is away: one line of the log without a stack', async () => {
    expect(await problemOf('/v1/fails/unanswered')).toMatchObject({ status: 503, code: 'orders.policy-unavailable' });
    const entry = logged.map((l) => JSON.parse(l)).find((l) => String(l.message).includes('10.0.0.8'));
    expect(entry).toMatchObject({ level: 'warn', message: expect.stringMatching(/^orders\.policy-unavailable: /) });
    expect(JSON.stringify(entry)).not.toContain('    at ');
  });
  test('a bug: 500 with a reference under which the log holds the cause', async () => {
    const bug = await problemOf('/v1/fails/bug');
    expect(bug).toMatchObject({ status: 500, code: 'internal', instance: expect.stringMatching(/^urn:uuid:/) });
    expect(JSON.stringify(bug)).not.toContain('secret');
    const reference = String(bug.instance).replace('urn:uuid:', '');
    const entry = logged.map((l) => JSON.parse(l)).find((l) => String(l.message).includes(reference));
    expect(entry).toMatchObject({
      level: 'error',
      service: 'orders',
      error: { message: 'the inner secret \u001b[31m' },
    });
    expect(logged.join('')).not.toContain('\u001b');
  });
});

describe('health', () => {
  test('alive, and ready while every check passes', async () => {
    expect((await ask('/healthz', { as: '' })).status).toBe(200);
    expect(await (await ask('/readyz', { as: '' })).json()).toEqual({ status: 'ready', checks: ['identities'] });
    let up = false;
    const off = registerHealth('bus', async () => {
      if (!up) throw new Error('closed: nats://user:secret@bus');
    });
    const down = await problemOf('/readyz', { as: '' });
    expect(down).toMatchObject({ status: 503, code: 'service.not-ready', failing: ['bus'] });
    expect(JSON.stringify(down)).not.toContain('secret');
    expect((await ask('/healthz', { as: '' })).status).toBe(200);
    up = true;
    expect(await (await ask('/readyz', { as: '' })).json()).toEqual({ status: 'ready', checks: ['bus', 'identities'] });
    off();
  });
});

describe('what only a second service shows', () => {
  test('a route that slips past the framework is found', async () => {
    const slip = await createService({
      name: 'slip',
      module: OrdersModule,
      config: { HOST: '127.0.0.1', PORT: 0, HOLDPOINT_IDENTITY_FILE: join(dir, 'identities.json'), LOG_LEVEL: 'fatal' },
      strategy: (a) => {
        a.getHttpAdapter()
          .getInstance()
          .get('/raw/:id', () => 'hello');
        return { listen: (done) => done(), close: () => {} };
      },
    });
    expect(await unguardedRoutes(slip)).toContain('GET /raw/:id');
    await slip.close();
  });
});
