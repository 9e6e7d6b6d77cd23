import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What becomes of a COMMIT on its way: passed on, kept back, or passed on with its answer lost. */
export type Fate = 'pass' | 'hold' | 'cut-before' | 'cut-after';

/** Stands between a client and a PostgreSQL server without TLS. */
export async function commitProxy(serverUrl: string) {
  const server = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let fate: Fate = 'pass';
  let seen = Promise.withResolvers<void>();
  const listener = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    client.on('close', () => fate !== 'hold' && upstream.destroy());
    upstream.on('close', () => client.destroy());
    let answers = true;
    client.on('data', (bytes) => {
      if (bytes.includes('COMMIT\0')) {
        seen.resolve();
        if (fate === 'cut-before') return client.destroy();
        if (fate === 'hold') return;
        answers = fate !== 'cut-after';
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => (answers ? client.write(bytes) : client.destroy()));
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const url = new URL(serverUrl);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    /** @returns when the next COMMIT has come */
    next: (what: Fate) => {
      fate = what;
      seen = Promise.withResolvers();
      return seen.promise;
    },
    stop: async () => {
      listener.close();
      for (const socket of sockets) socket.destroy();
      await once(listener, 'close');
    },
  };
}
