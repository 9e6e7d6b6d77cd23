import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { choosePorts } from '../src/ports.js';
import { loadSettings } from '../src/settings.js';

async function occupied(port = 0) {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as { port: number }).port, server };
}

test('a port that was asked for and is taken stops the start, by the name of its variable', async () => {
  const { port, server } = await occupied();
  const settings = loadSettings({ HOLDPOINT_PORTS: 'free', HOLDPOINT_STAGING_PORT: String(port) });
  await expect(choosePorts(settings, () => {})).rejects.toThrow('HOLDPOINT_STAGING_PORT');
  server.close();
});

test('a default that is taken makes way for the next one that is free, and that is said', async () => {
  const { server } = await occupied(4105).catch(() => ({ server: undefined }));
  const said: string[] = [];
  const ports = await choosePorts(loadSettings({}), (line) => said.push(line));
  expect(ports.audit).toBeGreaterThan(4105);
  expect(said.join('\n')).toContain(`port 4105 is taken: audit listens on ${ports.audit}`);
  expect(new Set(Object.values(ports)).size).toBe(Object.keys(ports).length);
  server?.close();
});
