import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What is answered to a command; lines end in CRLF. Null hangs up, '' says nothing at all. */
type Reply = (command: string, tag: string, nth: number) => string | null | undefined;

/**
 * An IMAP server that does as little as it can and, where `reply` answers something, exactly that: one mailbox INBOX or
 * Sent with one mail, whose UID is 7. `seen` is every command that came, without its tag.
 */
export async function crudeImap(reply: Reply = () => undefined, greeting: string | null = '* OK hello') {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const counts = new Map<string, number>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    if (greeting !== null) socket.write(`${greeting}\r\n`);
    let rest = '';
    socket.on('data', (chunk) => {
      rest += chunk.toString('latin1');
      for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        const [tag = '', ...words] = line.split(' ');
        const command = words.join(' ');
        const verb = (words[0] === 'UID' ? `UID ${words[1]}` : words[0]) ?? '';
        const nth = (counts.get(verb) ?? 0) + 1;
        counts.set(verb, nth);
        seen.push(command);
        const own = reply(command, tag, nth);
        if (own === null) socket.destroy();
        else socket.write(own ?? plain(verb, command, tag));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    seen,
    url: `imap://ann:pass-word@127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise<void>((done) => {
        for (const s of sockets) s.destroy();
        server.close(() => done());
      }),
  };
}

function plain(verb: string, command: string, tag: string): string {
  const ok = `${tag} OK done\r\n`;
  switch (verb) {
    case 'CAPABILITY':
      return `* CAPABILITY IMAP4rev1\r\n${ok}`;
    case 'LIST':
      return `* LIST () "/" ${/Sent/.test(command) ? 'Sent' : 'INBOX'}\r\n${ok}`;
    case 'EXAMINE':
      return `* 1 EXISTS\r\n* OK [UIDVALIDITY 3] x\r\n${tag} OK [READ-ONLY] done\r\n`;
    case 'FETCH':
      return `* 1 FETCH (UID 7)\r\n${ok}`;
    case 'UID FETCH':
      return command.includes('ENVELOPE')
        ? `* 1 FETCH (UID 7 ENVELOPE (NIL "hi" NIL NIL NIL NIL NIL NIL NIL "<01jcall@example.test>"))\r\n${ok}`
        : `* 1 FETCH (UID 7 BODY[]<0> {16}\r\nSubject: x\r\n\r\nhi)\r\n${ok}`;
    case 'UID SEARCH':
      return `* SEARCH 7\r\n${ok}`;
    default:
      return ok;
  }
}

/** Before a real server; `gone` is called whenever a client's connection has ended. */
export async function imapProxy(port: number, gone: () => void) {
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    client
      .on('error', () => {})
      .on('close', () => {
        upstream.destroy();
        gone();
      });
    upstream.on('error', () => {});
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise<void>((done) => server.close(() => done())),
  };
}
