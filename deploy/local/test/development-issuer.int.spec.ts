import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Identity, problem } from '@holdpoint/contracts';
import { freePort } from '@holdpoint/provision';
import { createService, Who } from '@holdpoint/runtime';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { AUDIENCE, fetchToken, startDevelopmentIssuer } from '../src/development-issuer.js';

@Controller()
class Probe {
  @Get('whoami')
  whoami(@Who() who: Identity) {
    return who;
  }
}
@Module({ controllers: [Probe] })
class ProbeModule {}

const secret = 'a secret of some length';
const people = [{ id: 'ada', name: 'Ada Keller', secret }];
let dir: string;
let port: number;
let server: Server;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-issuer-'));
  await writeFile(join(dir, 'identity.json'), '{"people":[],"services":[]}', { mode: 0o600 });
  port = await freePort();
  server = await start();
});
afterAll(async () => {
  server.close();
  await rm(dir, { recursive: true });
});

const start = () => startDevelopmentIssuer({ port, keyFile: join(dir, 'issuer.key'), people });
const issuer = () => `http://127.0.0.1:${port}`;
const probe = (HOLDPOINT_DEV: '0' | '1') =>
  createService({
    name: 'probe',
    module: ProbeModule,
    memberships: () => ({ standingOf: async () => ({ spaces: { acme: 'owner' } }) }),
    config: {
      HOST: '127.0.0.1',
      PORT: 0,
      LOG_LEVEL: 'fatal',
      HOLDPOINT_IDENTITY_FILE: join(dir, 'identity.json'),
      OIDC_ISSUER: issuer(),
      OIDC_AUDIENCE: AUDIENCE,
      HOLDPOINT_DEV,
    },
  });

test('outside development no service starts with it', async () => {
  await expect(probe('0')).rejects.toThrow(/OIDC_ISSUER is not valid: .* is an issuer for development/);
});

test('in development it signs in whoever shows their secret, and its tokens outlive it', async () => {
  const app = await probe('1');
  const url = await app.getUrl();
  const as = async (token: string) =>
    (await fetch(`${url}/whoami`, { headers: { authorization: `Bearer ${token}` } })).json();
  const token = await fetchToken(issuer(), { id: 'ada', secret });
  expect(await as(token)).toEqual({ kind: 'person', id: 'ada', name: 'Ada Keller', spaces: { acme: 'owner' } });
  expect((await stat(join(dir, 'issuer.key'))).mode & 0o777).toBe(0o600);
  for (const wrong of [
    { id: 'ada', secret: 'another' },
    { id: 'eve', secret },
    { id: 'ada', secret: '' },
  ])
    await expect(fetchToken(issuer(), wrong)).rejects.toThrow('no token');

  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  server = await start();
  const again = await probe('1');
  expect(await as(token)).toMatchObject({ id: 'ada' });
  expect(problem.parse(await as(token.slice(0, -4))).code).toBe('auth.token-refused');
  await again.close();
  await app.close();
});
