import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { policyMemberships } from '../src/auth/memberships.js';

let role: 'owner' | 'member' = 'owner';
let asked = 0;
let status = 200;
const server = createServer((request, response) => {
  asked += 1;
  const userId = decodeURIComponent(request.url?.split('/')[3] ?? '');
  // read when the question comes, told a while later, as over a network
  const body = JSON.stringify({ userId, spaces: { acme: role } });
  setTimeout(() => response.writeHead(status, { 'content-type': 'application/json' }).end(body), 20);
});
let people: ReturnType<typeof policyMemberships>;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  people = policyMemberships(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'token');
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  asked = 0;
  role = 'owner';
  status = 200;
});

test('many requests of one person at once are two questions, and each person has their own', async () => {
  const standings = await Promise.all(Array.from({ length: 200 }, () => people.standingOf('ada')));
  expect(new Set(standings.map((s) => s.spaces['acme']))).toEqual(new Set(['owner']));
  expect(asked).toBe(2);
  await Promise.all([people.standingOf('ben'), people.standingOf('mia')]);
  expect(asked).toBe(4);
});

test('a request that comes after a change is never answered by a question from before it', async () => {
  const before = people.standingOf('ada');
  while (asked === 0) await new Promise((resolve) => setImmediate(resolve));
  role = 'member';
  expect((await people.standingOf('ada')).spaces['acme']).toBe('member');
  expect((await before).spaces['acme']).toBe('owner');
});

test('no answer lets nobody in, and the next one is asked anew', async () => {
  status = 500;
  const refused = await Promise.allSettled([people.standingOf('ada'), people.standingOf('ada')]);
  expect(refused.map((r) => r.status)).toEqual(['rejected', 'rejected']);
  status = 200;
  expect((await people.standingOf('ada')).spaces).toEqual({ acme: 'owner' });
});
