import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROBLEM_TYPE, plainProblem } from '../http/problem.js';

/**
 * Holds the port while the service waits for its dependencies, so that whoever probes learns that it lives and is not
 * ready, and so that a port in use is found before anything else is touched.
 * @throws the error of `listen`
 */
export async function openWaitingRoom(port: number, host: string): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const alive = request.method === 'GET' && request.url === '/healthz';
    response.writeHead(alive ? 200 : 503, {
      'content-type': alive ? 'application/json' : PROBLEM_TYPE,
      connection: 'close',
      ...(!alive && { 'retry-after': '2' }),
    });
    response.end(JSON.stringify(alive ? { status: 'alive' } : plainProblem(503)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
