import { type Context, context } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isTracing, markFailed, type Span, SpanKind, startSpan } from './spans.js';

/** Asked every few seconds by machines, and part of nothing. */
const UNHEARD = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * A span for each request, named by its route; neither path nor query, which hold what a client chose to write. A request
 * that says of which trace it is goes on with it.
 */
export function traceRequests(fastify: FastifyInstance): void {
  if (!isTracing()) return;
  const open = new WeakMap<FastifyRequest, { span: Span; within: Context }>();

  fastify.addHook('onRequest', (request, _reply, done) => {
    const route = request.routeOptions.url;
    if (route !== undefined && UNHEARD.has(route)) return done();
    open.set(
      request,
      startSpan(route === undefined ? request.method : `${request.method} ${route}`, {
        kind: SpanKind.SERVER,
        attributes: { 'http.request.method': request.method, ...(route === undefined ? {} : { 'http.route': route }) },
        parent: traceparentOf(request),
      }),
    );
    done();
  });
  // the body arrives on the socket's own time, which knows nothing of the request's context
  fastify.addHook('preHandler', (request, _reply, done) => {
    const started = open.get(request);
    if (started) context.with(started.within, done);
    else done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const span = open.get(request)?.span;
    span?.setAttribute('http.response.status_code', reply.statusCode);
    if (span && reply.statusCode >= 500) markFailed(span, String(reply.statusCode));
    span?.end();
    done();
  });
}

const traceparentOf = ({ headers }: FastifyRequest): string | null => {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? traceparent : null;
};
