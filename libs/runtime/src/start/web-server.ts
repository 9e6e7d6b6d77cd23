import type { INestApplication } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyServerOptions, RouteOptions } from 'fastify';
import { PROBLEM_TYPE, plainProblem } from '../http/problem.js';
import { repeatedKey } from '../http/repeated-key.js';
import { Refusal } from '../refusal.js';
import { traceRequests } from '../telemetry/request-spans.js';

const BODY_LIMIT = 1024 * 1024;
const routes = new WeakMap<object, RouteOptions[]>();

/** Fastify as every service runs it: JSON bodies only, 1 MiB and each key once at most, requests in flight are finished while it closes. */
export function webServer(): FastifyAdapter {
  const options: FastifyServerOptions = {
    bodyLimit: BODY_LIMIT,
    requestTimeout: 30_000,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 512 },
    // What the router refuses before any hook or filter runs.
    frameworkErrors(err, _request, reply: FastifyReply) {
      const problem = plainProblem(err.statusCode ?? 400);
      void reply.status(problem.status).header('content-type', PROBLEM_TYPE).send(JSON.stringify(problem));
    },
    // What is no HTTP at all.
    clientErrorHandler(err, socket) {
      const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[err.code ?? ''] ?? 400;
      const problem = plainProblem(status);
      const body = JSON.stringify(problem);
      if (socket.writable)
        socket.end(
          `HTTP/1.1 ${status} ${problem.title}\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
        );
      else socket.destroy();
    },
  };
  const adapter = new FastifyAdapter(options);
  const fastify = adapter.getInstance<FastifyInstance>();
  fastify.removeContentTypeParser(['text/plain', 'application/json']);
  const parse = fastify.getDefaultJsonParser('error', 'error');
  fastify.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) =>
    parse(request, body as string, (err, value) => done(err ?? saidTwice(body as string), value)),
  );
  // Answers hold content that is sealed everywhere else.
  fastify.addHook('onRequest', (_request, reply, done) => {
    void reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    done();
  });
  // Closing waits for connections, and one whose last request was in hand would be kept alive for another.
  fastify.server.on('request', (_request, response) => {
    response.once('close', () => {
      if (!fastify.server.listening) setImmediate(() => fastify.server.closeIdleConnections());
    });
  });
  traceRequests(fastify);
  const seen: RouteOptions[] = [];
  routes.set(fastify, seen);
  fastify.addHook('onRoute', (route) => {
    seen.push(route);
  });
  return adapter;
}

function saidTwice(body: string): Refusal | null {
  const field = repeatedKey(body);
  if (field === undefined) return null;
  return new Refusal('invalid', 'request.repeated-key', 'The body has a key twice in one object; send each key once.', {
    errors: [{ field, message: 'is there twice' }],
  });
}

/**
 * Every route that answers without a token, as `GET /healthz`, found by asking each of them without one. For tests: of
 * a service only `/healthz` and `/readyz` may be in it.
 */
export async function unguardedRoutes(app: INestApplication): Promise<string[]> {
  const fastify = app.getHttpAdapter().getInstance() as FastifyInstance;
  const open = new Set<string>();
  for (const route of routes.get(fastify) ?? []) {
    for (const method of [route.method].flat()) {
      const url = route.url.replaceAll(/:\w+/g, 'x').replaceAll('*', 'x');
      const { statusCode } = await fastify.inject({ method: method as 'GET', url });
      if (statusCode !== 401) open.add(`${method} ${route.url}`);
    }
  }
  return [...open].filter((r) => !(r.startsWith('HEAD ') && open.has(r.replace('HEAD', 'GET')))).sort();
}
