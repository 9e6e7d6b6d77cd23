import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { clientFileAt, loadSettings } from './settings.js';

const home = mkdtempSync(join(tmpdir(), 'holdpoint-cli-'));
afterAll(() => rmSync(home, { recursive: true }));

const urls = Object.fromEntries(
  ['engine', 'policy', 'staging', 'taskboard', 'audit'].map((s, i) => [s, `http://127.0.0.1:${9000 + i}`]),
);
const file = {
  urls,
  people: { ada: 'token-a', ben: 'token-b' },
  nats: { url: 'nats://x', user: 'checker', pass: 'p' },
};
writeFileSync(join(home, 'client.json'), JSON.stringify(file));
const env = { HOLDPOINT_HOME: home };

it('looks for a running system where it is started by default', () => {
  expect(clientFileAt(env)).toBe(join(home, 'client.json'));
  expect(clientFileAt({}, true)).toBe('/var/lib/holdpoint/client.json');
  expect(clientFileAt({ XDG_STATE_HOME: '/s' }, false)).toBe('/s/holdpoint/client.json');
  expect(clientFileAt({}, false)).toMatch(/\/\.local\/state\/holdpoint\/client\.json$/);
});

it('acts as the person asked for, else by the token given, else as HOLDPOINT_AS, else as ada', () => {
  expect(loadSettings(undefined, env).token).toBe('token-a');
  expect(loadSettings(undefined, { ...env, HOLDPOINT_AS: 'ben' }).token).toBe('token-b');
  expect(loadSettings(undefined, { ...env, HOLDPOINT_AS: 'ben', HOLDPOINT_TOKEN: 't' }).token).toBe('t');
  expect(loadSettings('ben', { ...env, HOLDPOINT_TOKEN: 't' }).token).toBe('token-b');
  for (const nobody of ['eve', '__proto__', 'toString']) expect(() => loadSettings(nobody, env)).toThrow(/ada, ben/);
});

it('takes an address from the environment', () => {
  const settings = loadSettings(undefined, {
    ...env,
    HOLDPOINT_STAGING_URL: 'http://127.0.0.1:1',
    HOLDPOINT_NATS_URL: 'nats://y',
  });
  expect(settings.urls).toEqual({ ...urls, staging: 'http://127.0.0.1:1' });
  expect(settings.nats).toEqual({ url: 'nats://y', user: 'checker', pass: 'p' });
});

it('says what to do when nothing runs or the file is damaged', () => {
  expect(() => loadSettings(undefined, { HOLDPOINT_HOME: join(home, 'none') })).toThrow(/npm start/);
  const damaged = mkdtempSync(join(home, 'damaged-'));
  writeFileSync(join(damaged, 'client.json'), '{"urls":{}}');
  expect(() => loadSettings(undefined, { HOLDPOINT_HOME: damaged })).toThrow(/npm start/);
});
