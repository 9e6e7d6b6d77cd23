import type { Hint } from '@holdpoint/contracts';
import { describe, expect, test } from '@jest/globals';
import { factsOf, type RegisteredTool, type StatedTool } from './tool-facts.js';

const stated: StatedTool = {
  agent: 'assistant',
  server: 'builtin',
  tool: 'FileRW',
  action: 'read',
  origin: 'builtin',
  hint: 'read',
  scope: 'user',
};
const action = (name: string | null, hint: Hint, scope: 'user' | 'admin' = 'user') => ({ name, hint, scope });
const registered = (more: Partial<RegisteredTool> = {}): RegisteredTool => ({
  server: 'builtin',
  tool: 'FileRW',
  origin: 'builtin',
  agents: ['assistant'],
  actions: [action('read', 'read'), action('write', 'write'), action('purge', 'destructive')],
  ...more,
});

const of = (...tools: RegisteredTool[]) => ({ announced: true, tools });

test('a space without a registry takes the call’s own word', () => {
  expect(factsOf(stated, { announced: false, tools: [] })).toEqual({
    origin: 'builtin',
    hint: 'read',
    scope: 'user',
    actions: null,
  });
});

describe('by the registry there is no such tool', () => {
  test.each<[string, RegisteredTool]>([
    ['of this name', registered({ tool: 'Mail' })],
    ['in this spelling', registered({ tool: 'fileRW' })],
    ['on this server', registered({ server: 'remote' })],
    ['for this agent', registered({ agents: ['other'] })],
  ])('%s', (_, tool) => {
    expect(factsOf(stated, of(tool))).toBeNull();
  });
  test('any more', () => {
    expect(factsOf(stated, of())).toBeNull();
  });
});

describe('of what the call states and what was announced the stricter counts', () => {
  test.each<[string, Partial<StatedTool>, Partial<RegisteredTool>, object]>([
    ['the declared hint', { action: 'purge' }, {}, { hint: 'destructive' }],
    ['the stated hint', { hint: 'destructive' }, {}, { hint: 'destructive' }],
    ['the declared scope', {}, { actions: [action('read', 'read', 'admin')] }, { scope: 'admin' }],
    ['the stated scope', { scope: 'admin' }, {}, { scope: 'admin' }],
    ['the declared origin', {}, { origin: 'foreign' }, { origin: 'foreign' }],
    ['the stated origin', { origin: 'foreign' }, {}, { origin: 'foreign' }],
    [
      'neither when both agree',
      {},
      {},
      { origin: 'builtin', hint: 'read', scope: 'user', actions: ['read', 'write', 'purge'] },
    ],
  ])('%s', (_, said, tool, expected) => {
    expect(factsOf({ ...stated, ...said }, of(registered(tool)))).toMatchObject(expected);
  });

  test('an action that is not declared is as grave as any that is', () => {
    for (const undeclared of [null, 'Read', 'list'])
      expect(factsOf({ ...stated, action: undeclared }, of(registered()))).toMatchObject({ hint: 'destructive' });
  });
  test('a tool that declares none has none', () => {
    expect(factsOf({ ...stated, action: null }, of(registered({ actions: [action(null, 'write')] })))).toEqual({
      origin: 'builtin',
      hint: 'write',
      scope: 'user',
      actions: [],
    });
  });
});
