import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import type { Said, Wire } from './wire.js';

export interface Request {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}
export type Answer = (response: ServerResponse, request: Request) => Promise<void> | void;
export type Endpoint = Awaited<ReturnType<typeof startEndpoint>>;

/** A model's endpoint on this machine. It gives its answers in order, and the last one from then on. */
export async function startEndpoint(...answers: Answer[]) {
  const requests: Request[] = [];
  let rest = answers;
  const server = createServer(async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = { path: incoming.url ?? '', headers: incoming.headers, body: await text(incoming) };
    requests.push(request);
    const [answer, ...others] = rest;
    if (others.length > 0) rest = others;
    await answer?.(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    answer: (...next: Answer[]) => {
      rest = next;
      requests.length = 0;
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });

/** A round, its bytes cut into pieces of the given sizes, over and over. */
export const say =
  (wire: Wire, said: Said, sizes: number[] = [65_536]): Answer =>
  async (response) => {
    stream(response);
    const bytes = Buffer.from(wire.events(said).join(''));
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = sizes[i % sizes.length] ?? 1;
      response.write(bytes.subarray(at, at + size));
      at += size;
      await turn();
    }
    response.end();
  };

export const raw =
  (content: string | Uint8Array, type = 'text/event-stream'): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': type }).end(content);
  };

export const status =
  (code: number, body: string = JSON.stringify({ error: { message: `status ${code}` } }), headers = {}): Answer =>
  (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(body);
  };

/** The beginning of a round, and then the connection breaks. */
export const breakOff =
  (wire: Wire, said: Said): Answer =>
  async (response) => {
    stream(response);
    response.write(wire.events({ ...said, finish: null }).join(''));
    await turn();
    response.destroy();
  };

/** The beginning of a round, and then nothing. */
export const fallSilent =
  (wire: Wire, said: Said): Answer =>
  (response) => {
    stream(response);
    response.write(wire.events({ ...said, finish: null }).join(''));
  };
