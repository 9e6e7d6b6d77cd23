import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { SpacePolicyClient, serviceClient } from '../src/index.js';

// Seed 001, Tests, SpacePolicyClient: cache hit and miss, TTL expiry, fail-closed on an error, separation of spaces.

const TTL_MS = 30_000;

let server: Server;
let asked: string[];
/** What each space allows; a space that is missing is answered with 500. */
let allowed: Map<string, string[]>;
/** Held back until it resolves. */
let held: Promise<void> | undefined;
let now: number;
let client: SpacePolicyClient;

beforeAll(async () => {
  Logger.overrideLogger(false);
  server = createServer(async (request, response) => {
    const [, space = '', what] = /^\/internal\/spaces\/([^/]+)\/(policy|advice)$/.exec(request.url ?? '') ?? [];
    asked.push(`${request.method} ${space} ${what} ${request.headers.authorization}`);
    const allowDestructive = allowed.get(space);
    await held;
    if (allowDestructive === undefined) return response.writeHead(500).end();
    const triple = { server: 'builtin', tool: 'FileRW', action: 'purge_folder' };
    const actions = allowDestructive.map(() => ({ ...triple, verdict: 'auto', reason: 'default' }));
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ spaceId: space === 'liar' ? 'acme' : space, agent: 'helper', allowDestructive, actions }),
    );
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
  held = undefined;
  now = 1_000;
  allowed = new Map([['acme', ['FileRW.purge_folder']]]);
  const { port } = server.address() as AddressInfo;
  const policy = serviceClient({ baseUrl: `http://127.0.0.1:${port}`, token: 'the-token', timeoutMs: 2_000 });
  client = new SpacePolicyClient(policy, { ttlMs: TTL_MS, now: () => now });
});

const question = { agent: 'helper', actions: [] };
const allowedIn = async (space: string) => (await client.policyOf(space)).allowDestructive;

describe('SpacePolicyClient', () => {
  it('cache miss and hit: asks policy with the service token, and answers from the cache until the 30 seconds are over', async () => {
    expect(await allowedIn('acme')).toEqual(['FileRW.purge_folder']);
    allowed.set('acme', []);
    now += TTL_MS - 1;
    expect(await allowedIn('acme')).toEqual(['FileRW.purge_folder']);
    expect(asked).toEqual(['GET acme policy Bearer the-token']);
  });

  it('TTL expiry: asks again after the 30 seconds', async () => {
    await allowedIn('acme');
    allowed.set('acme', []);
    now += TTL_MS;
    expect(await allowedIn('acme')).toEqual([]);
    expect(asked).toHaveLength(2);
  });

  it('API-error fail-closed: an error allows nothing, and is not kept', async () => {
    allowed.delete('acme');
    expect(await allowedIn('acme')).toEqual([]);
    expect(await client.adviceOn('acme', question)).toEqual({ spaceId: 'acme', agent: 'helper', actions: [] });
    allowed.set('acme', ['FileRW.purge_folder']);
    expect(await allowedIn('acme')).toEqual(['FileRW.purge_folder']);
    expect((await client.adviceOn('acme', question)).actions).toHaveLength(1);
  });

  it('fails closed also once an answer that allowed something has run out', async () => {
    expect(await allowedIn('acme')).toEqual(['FileRW.purge_folder']);
    allowed.delete('acme');
    now += TTL_MS;
    expect(await allowedIn('acme')).toEqual([]);
  });

  it('takes no answer about another space', async () => {
    allowed.set('liar', ['FileRW.purge_folder']);
    expect(await allowedIn('liar')).toEqual([]);
  });

  it('per-space cache separation: what is known of one space says nothing of another', async () => {
    allowed.set('other', []);
    expect(await allowedIn('acme')).toEqual(['FileRW.purge_folder']);
    expect(await allowedIn('other')).toEqual([]);
    client.drop('other');
    await allowedIn('acme');
    expect(asked).toHaveLength(2);
  });

  it('asks once for many who ask at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => allowedIn('acme')));
    expect(new Set(answers.flat())).toEqual(new Set(['FileRW.purge_folder']));
    expect(asked).toHaveLength(1);
  });

  it('a revoke acts at once: what is known of the space is dropped, policy and advice', async () => {
    await allowedIn('acme');
    await client.adviceOn('acme', question);
    allowed.set('acme', []);
    client.drop('acme');
    expect(await allowedIn('acme')).toEqual([]);
    expect((await client.adviceOn('acme', question)).actions).toEqual([]);
  });

  it('an answer that was under way when the policy changed is not kept', async () => {
    let release = () => {};
    held = new Promise((resolve) => {
      release = resolve;
    });
    const early = allowedIn('acme');
    // the server has read what is allowed before it is revoked
    while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    allowed.set('acme', []);
    client.drop('acme');
    const late = allowedIn('acme');
    release();
    expect(await early).toEqual(['FileRW.purge_folder']);
    expect(await late).toEqual([]);
    expect(await allowedIn('acme')).toEqual([]);
    expect(asked).toHaveLength(2);
  });
});
