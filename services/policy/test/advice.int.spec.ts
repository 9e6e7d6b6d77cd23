import { spacePolicyAdvice } from '@holdpoint/contracts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openSpaces, type SpacesFixture } from './spaces-fixture.js';

// What the engine asks before a model is told what it can do.

let f: SpacesFixture;
beforeAll(async () => {
  f = await openSpaces();
  await f.found('acme');
});
afterAll(() => f.close());

const asked = (
  tool: string,
  action: string,
  hint: 'read' | 'write' | 'destructive',
  scope: 'user' | 'admin' = 'user',
) => ({
  server: 'builtin',
  tool,
  action,
  hint,
  scope,
  origin: 'builtin',
});
const QUESTION = {
  agent: 'assistant',
  actions: [
    asked('FileRW', 'read', 'read'),
    asked('FileRW', 'delete', 'write'),
    asked('FileRW', 'purge_folder', 'destructive'),
    asked('Mail', 'send', 'write', 'admin'),
  ],
};
const ask = (as: string, spaceId = 'acme') => f.ask(as, 'POST', `/internal/spaces/${spaceId}/advice`, QUESTION);
const advice = async () =>
  spacePolicyAdvice.parse((await ask('engine')).body).actions.map((a) => `${a.action} ${a.verdict} ${a.reason}`);

test('each action gets the verdict that a call of it would get now, opt-ins, rules and halts of the space included', async () => {
  const admin = 'send deny admin-scope-not-invokable';
  const before = ['read auto default', 'delete approve rule', 'purge_folder deny destructive-not-allowed', admin];
  expect(await advice()).toEqual(before);

  const allowDestructive = ['FileRW.purge_folder'];
  await f.ask('ada', 'PUT', '/api/v1/spaces/acme/policy', { allowDestructive, acknowledged: true });
  expect(await advice()).toEqual([...before.slice(0, 2), 'purge_folder auto default', admin]);

  await f.ask('ada', 'PUT', '/api/v1/spaces/acme/policy', { allowDestructive: [] });
  const rules = [{ tool: 'FileRW', action: 'read', verdict: 'deny' }];
  await f.ask('ada', 'PUT', '/api/v1/spaces/acme/rules', { rules });
  expect(await advice()).toEqual(['read deny rule', ...before.slice(1)]);

  await f.ask('ada', 'POST', '/api/v1/halts', { scope: 'agent', spaceId: 'acme', agent: 'assistant', reason: 'test' });
  expect(new Set((await advice()).map((a) => a.split(' ').at(-1)))).toEqual(new Set(['halted']));
});

test('only the engine is advised', async () => {
  for (const as of ['ada', 'staging']) expect((await ask(as)).status).toBe(403);
  expect((await ask('')).status).toBe(401);
});
