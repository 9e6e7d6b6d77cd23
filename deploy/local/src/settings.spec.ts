import { expect, test } from '@jest/globals';
import { loadSettings } from './settings.js';

test('a person chooses folder, ports and server by variables', () => {
  const settings = loadSettings({
    HOLDPOINT_HOME: '/var/tmp/holdpoint',
    HOLDPOINT_STAGING_PORT: '5103',
    NATS_SERVER: '/opt/nats-server',
  });
  expect(settings).toMatchObject({
    home: '/var/tmp/holdpoint',
    natsServer: '/opt/nats-server',
    freePorts: false,
    ports: { HOLDPOINT_STAGING_PORT: 5103 },
  });
});

test('a home that the command would not find by itself is known as such', () => {
  expect(loadSettings({ HOLDPOINT_HOME: '/var/tmp/holdpoint' }).homeIsDefault).toBe(false);
  expect(loadSettings({}).homeIsDefault).toBe(true);
  expect(loadSettings({ HOLDPOINT_HOME: loadSettings({}).home }).homeIsDefault).toBe(true);
});

test.each([
  ['HOLDPOINT_AUDIT_PORT', '70000'],
  ['HOLDPOINT_NATS_PORT', 'none'],
  ['HOLDPOINT_PORTS', 'some'],
])('%s=%s is refused by its name', (variable, value) => {
  expect(() => loadSettings({ [variable]: value })).toThrow(variable);
});
