import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A broker on a port of its own that honours idempotency keys, and fails as it is told. */
export async function startBroker() {
  const orders = new Map<string, unknown>();
  let failure: 'none' | 'refuse' | 'trouble' | 'cut' = 'none';
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const answer = (status: number, said: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(said));
    if (request.headers.authorization !== 'Bearer broker-token') return answer(401, {});
    if (request.method === 'GET') return answer(200, [...orders.values()]);
    if (failure === 'refuse') return answer(422, { error: 'market closed' });
    if (failure === 'trouble') return answer(503, {});
    const key = String(request.headers['idempotency-key']);
    if (!orders.has(key)) orders.set(key, JSON.parse(body));
    return failure === 'cut' ? response.destroy() : answer(201, { order: orders.size });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`,
    orders,
    fail: (how: typeof failure) => {
      failure = how;
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}
