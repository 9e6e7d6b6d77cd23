import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@holdpoint/provision';
import { expect, test } from '@jest/globals';
import { startSmtpSink } from '../src/smtp-sink.js';

test('a mail is kept byte for byte, and accepted only then', async () => {
  const outbox = await mkdtemp(join(tmpdir(), 'outbox-'));
  const port = await freePort();
  const sink = await startSmtpSink({ port, outbox });
  const mail = Buffer.concat([
    Buffer.from('Subject: =?utf-8?q?caf=C3=A9?=\r\nTo: a@b.example\r\n\r\n.a line with a dot\r\n..two\r\n\ttab  \r\n'),
    Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0x0d, 0x0a]),
    Buffer.from('café ✓ no line end follows the last line but one\r\n\r\n'),
  ]);
  const socket = createConnection(port, '127.0.0.1');
  const said = async (code: string) => {
    for (let text = ''; ; ) {
      text += String((await once(socket, 'data'))[0]);
      const last = text.trimEnd().split('\r\n').at(-1) ?? '';
      if (/^\d{3} /.test(last)) return expect(last.slice(0, 3)).toBe(code);
    }
  };
  await said('220');
  for (const [line, code] of [
    ['EHLO me', '250'],
    ['MAIL FROM:<x@y.example>', '250'],
    ['RCPT TO:<a@b.example>', '250'],
    ['DATA', '354'],
  ] as const) {
    socket.write(`${line}\r\n`);
    await said(code);
  }
  const stuffed = Buffer.from(mail.toString('latin1').replaceAll(/^\./gm, '..'), 'latin1');
  socket.write(Buffer.concat([stuffed, Buffer.from('.\r\n')]));
  await said('250');
  const files = await readdir(outbox);
  expect(files).toHaveLength(1);
  expect(files[0]).toMatch(/^\d{8}T\d{6}\.\d{3}Z-1\.eml$/);
  expect(await readFile(join(outbox, files[0] as string))).toEqual(mail);
  socket.end();
  await sink.stop();
  await rm(outbox, { recursive: true });
});
