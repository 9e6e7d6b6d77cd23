import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

// What `npm start` looks for before it installs anything.

interface Found {
  natsServer(o: { env: NodeJS.ProcessEnv; say: (text: string) => void; fail: (text: string) => never }): string;
}
const { natsServer } = (await import(`${import.meta.dirname}/../../../tools/nats-server.mjs`)) as Found;

let dir: string;
const path = process.env['PATH'];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-path-'));
  const server = join(dir, 'nats-server');
  await writeFile(server, '#!/bin/sh\n[ "$1" = --version ] && echo nats-server: v2.10.0\n');
  await chmod(server, 0o755);
});
afterAll(async () => {
  process.env['PATH'] = path;
  await rm(dir, { recursive: true });
});

it('a server on the PATH is used, and nothing is installed', () => {
  process.env['PATH'] = `${dir}:${path}`;
  const said: string[] = [];
  const fail = (text: string): never => {
    throw new Error(text);
  };
  expect(natsServer({ env: {}, say: (text) => said.push(text), fail })).toBe('nats-server');
  expect(said).toEqual([]);
});
