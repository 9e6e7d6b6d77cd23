import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface Delivered {
  from: string;
  to: string[];
  raw: Buffer;
}

/** A real SMTP server that keeps every message it took. */
export async function smtpServer(options: SMTPServerOptions = {}) {
  const delivered: Delivered[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    // a client that goes away is part of what is tested
    closeTimeout: 50,
    onData: (stream, session, callback) => {
      buffer(stream).then(
        (raw) => {
          const { mailFrom, rcptTo } = session.envelope;
          delivered.push({ from: mailFrom ? mailFrom.address : '', to: rcptTo.map((r) => r.address), raw });
          callback();
        },
        (error: Error) => callback(error),
      );
    },
    ...options,
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return { url: urlOf(server.server), delivered, close: () => new Promise<void>((done) => server.close(() => done())) };
}

/** A server that answers line by line as told and hangs up when `reply` gives null; `message` is called at the end of data. */
export async function crudeServer(reply: (line: string, socket: Socket) => string | null) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    let rest = '';
    let data = false;
    const say = (text: string | null) => (text === null ? socket.destroy() : socket.write(`${text}\r\n`));
    say('220 crude');
    socket.on('data', (chunk) => {
      rest += chunk.toString('latin1');
      for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        if (data && line !== '.') continue;
        const answer = reply(line, socket);
        data = answer?.startsWith('354') ?? false;
        if (answer !== '') say(answer);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () =>
    new Promise<void>((done) => {
      for (const s of sockets) s.destroy();
      server.close(() => done());
    });
  return { url: urlOf(server), close };
}

/** A port on which nobody listens. */
export async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = urlOf(server);
  await new Promise<void>((done) => server.close(() => done()));
  return url;
}

const urlOf = (server: Pick<Server, 'address'>) => `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
