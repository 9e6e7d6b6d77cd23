import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What becomes of a command on its way: kept back until `letGo`, lost with the connection before it or after it, or answered here. */
export type Fate = 'hold' | 'cut-before' | 'cut-after' | { answer: string };

interface Trap {
  verb: string;
  fate: Fate;
  seen: () => void;
}

/** Stands on the control connection to an FTP server without TLS; data connections pass it by. */
export async function ftpProxy(serverUrl: string) {
  const server = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  let trap: Trap | undefined;
  const listener = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    let answers = true;
    client.on('data', (bytes) => {
      const verb = bytes.toString('latin1').split(/[ \r]/)[0];
      if (trap === undefined || trap.verb !== verb) return upstream.write(bytes);
      const { fate, seen }: Trap = trap;
      trap = undefined;
      if (fate === 'hold') held.push(() => upstream.write(bytes));
      else if (fate === 'cut-before') client.destroy();
      else if (fate === 'cut-after') {
        answers = false;
        upstream.write(bytes);
      } else client.write(`${fate.answer}\r\n`);
      return seen();
    });
    client.on('close', () => held.length === 0 && upstream.destroy());
    upstream.on('data', (bytes) => (answers ? client.write(bytes) : client.destroy()));
    upstream.on('close', () => client.destroy());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const url = new URL(serverUrl);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    /** @returns when the next command of that name has come */
    next: (verb: string, fate: Fate): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      trap = { verb, fate, seen: resolve };
      return promise;
    },
    /** Passes on what has been kept back for longest. */
    letGo: () => held.shift()?.(),
    stop: async () => {
      listener.close();
      for (const socket of sockets) socket.destroy();
      await once(listener, 'close');
    },
  };
}
