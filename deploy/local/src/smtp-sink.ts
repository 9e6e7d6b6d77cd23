import { once } from 'node:events';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

const MAX_MAIL_BYTES = 10 * 1024 * 1024;

/**
 * A mail server on loopback that delivers nothing: each mail becomes a file, the bytes as they came over the wire. A mail
 * is accepted once it is on disk.
 */
export async function startSmtpSink(options: { port: number; outbox: string }): Promise<{ stop(): Promise<void> }> {
  let count = 0;
  const keep = async (mail: Buffer) => {
    const time = new Date().toISOString().replaceAll(/[-:]/g, '');
    const path = join(options.outbox, `${time}-${++count}.eml`);
    const file = await open(`${path}.part`, 'wx', 0o600);
    try {
      await file.writeFile(mail);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.part`, path);
  };
  const server = new SMTPServer({
    name: 'localhost',
    banner: 'Holdpoint keeps this mail as a file',
    disabledCommands: ['AUTH', 'STARTTLS'],
    size: MAX_MAIL_BYTES,
    logger: false,
    onData(stream, _session, done) {
      buffer(stream)
        .then(async (mail) => {
          if (stream.sizeExceeded) throw Object.assign(new Error('the mail is too large'), { responseCode: 552 });
          await keep(mail);
        })
        .then(
          () => done(null),
          (err: Error) => done(err),
        );
    },
  });
  server.on('error', (err) => console.error(err));
  server.listen(options.port, '127.0.0.1');
  await once(server.server, 'listening');
  return { stop: () => new Promise((resolve) => server.close(() => resolve())) };
}
