import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import fastify, { type FastifyInstance } from 'fastify';
import { sendEventStream } from '../src/index.js';

const BLOCK = `data: ${'x'.repeat(1024 * 1024)}\n\n`;
const PATIENCE_MS = 200;
let server: FastifyInstance;
let made = 0;
const ended = Promise.withResolvers<void>();

beforeAll(async () => {
  Logger.overrideLogger(false);
  server = fastify();
  server.get('/', (_request, reply) => {
    async function* blocks() {
      for (;;) {
        made++;
        yield BLOCK;
      }
    }
    sendEventStream(
      reply,
      (gone) => {
        gone.addEventListener('abort', () => ended.resolve());
        return blocks();
      },
      { name: 'test', patienceMs: PATIENCE_MS },
    );
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => server.close());

test('a client that takes nothing is cut off, and little was made for it', async () => {
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await ended.promise;
  // What fits into the buffers of two sockets, and never without bound.
  expect(made).toBeGreaterThan(0);
  expect(made).toBeLessThan(64);
  socket.destroy();
});
