import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readSpans } from './otlp.js';
import { listPage, missingPage, STYLE, tracePage } from './page.js';
import { TraceStore } from './trace-store.js';

const MAX_BODY_BYTES = 8 * 1024 * 1024;

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/**
 * Takes spans as OTLP sends them (JSON over HTTP, `POST /v1/traces`) and shows them as pages without a script. On loopback
 * alone, and only to who calls it by a name of loopback, so that no page of the web reads along.
 */
export async function startTraceServer(options: { port: number }): Promise<{ url: string; stop(): Promise<void> }> {
  const store = new TraceStore();
  const server = createServer((request, response) => {
    void answer(store, request, response).catch(() => response.destroy());
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(store: TraceStore, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (status: number, type: string, body: string) =>
    response.writeHead(status, { ...HEADERS, 'content-type': `${type}; charset=utf-8` }).end(body);
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? '')) return void send(421, 'text/plain', '');
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  if (request.method === 'POST' && pathname === '/v1/traces')
    return void send(await take(store, request), 'application/json', '{}');
  if (request.method !== 'GET') return void send(405, 'text/plain', '');
  if (pathname === '/') return void send(200, 'text/html', listPage(store.list()));
  if (pathname === '/style.css') return void send(200, 'text/css', STYLE);
  const id = /^\/traces\/([0-9a-f]{32})$/.exec(pathname)?.[1];
  const trace = id === undefined ? undefined : store.find(id);
  if (trace)
    send(
      200,
      'text/html',
      tracePage(trace, (other) => store.find(other) !== undefined),
    );
  else send(404, 'text/html', missingPage());
}

/** @returns the status. The type is insisted upon: a page of the web cannot send it here without asking first. */
async function take(store: TraceStore, request: IncomingMessage): Promise<number> {
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) return 415;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return 413;
    chunks.push(chunk);
  }
  try {
    store.add(readSpans(JSON.parse(Buffer.concat(chunks).toString('utf8'))));
    return 200;
  } catch {
    return 400;
  }
}
