import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HaltView, MemberView, SpacePolicyView, SpaceToolView } from '@holdpoint/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Installation } from './holdpoint.js';

// What spaces decide for themselves, as people type it.

let at: Installation;
beforeAll(async () => {
  at = await Installation.open();
});
afterAll(() => at.close());
beforeEach(() => {
  at.asked.length = 0;
  at.answers.clear();
  at.answers.set('GET /api/v1/spaces', { json: { items: [space('acme')] } });
  at.answers.set('GET /api/v1/spaces/acme/members', { json: { items: [mia] } });
  at.answers.set('GET /api/v1/spaces/acme/policy', { json: policy('FileRW.purge_folder') });
  at.answers.set('GET /api/v1/spaces/acme/tools', { json: { items: [fileRw] } });
});

/** Clears the screen, hides, turns text round, ends lines, and rings the bell. */
const HOSTILE = '\u001b[2J\u009b31m\u202e\u200b\u2028\u0007\r';
const UNSAFE = /[^\P{C}\n]|[\p{Zl}\p{Zp}]/u;

const when = '2026-01-01T00:00:00.000Z';
const space = (spaceId: string) => ({
  spaceId,
  name: `Acme${HOSTILE}`,
  role: 'owner',
  createdBy: 'ada',
  createdAt: when,
});
const mia: MemberView = {
  userId: 'mia',
  displayName: `Mia${HOSTILE}`,
  role: 'member',
  groups: ['ops'],
  changedBy: 'ada',
  changedAt: when,
};
const policy = (...allowDestructive: string[]): SpacePolicyView => ({
  spaceId: 'acme',
  allowDestructive,
  updatedAt: when,
  updatedBy: 'ada',
});
const fileRw: SpaceToolView = {
  server: 'builtin',
  tool: 'FileRW',
  origin: 'builtin',
  description: 'Text files.',
  affectedData: `Files${HOSTILE}`,
  agents: ['assistant'],
  actions: ['purge_folder', 'shred'].map((action) => ({
    toolName: `FileRW.${action}`,
    action,
    description: `Deletes.${HOSTILE}`,
    hint: 'destructive',
    scope: 'user',
    executionClass: 'at-most-once',
    optedIn: false,
    verdicts: [{ agent: 'assistant', verdict: 'deny', reason: 'destructive-not-allowed', rule: 'builtin: default' }],
  })),
};
const halted: HaltView = {
  id: 'h1',
  scope: 'agent',
  spaceId: 'acme',
  agent: 'assistant',
  reason: `it writes nonsense${HOSTILE}`,
  setBy: 'ada',
  setAt: when,
  liftedBy: null,
  liftedAt: null,
};
const sent = (method: string) => at.asked.filter((a) => a.method === method).map(({ url, body }) => ({ url, body }));

describe('policy', () => {
  it('show lists what is allowed, and what else of that kind there is; no text of a stranger gets out', async () => {
    const { code, stdout } = await at.holdpoint('policy');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^FileRW\.purge_folder +yes +assistant +deny +Files\\u\{1b\}/m);
    expect(stdout).toMatch(/^FileRW\.shred +no /m);
    expect(stdout).not.toMatch(UNSAFE);
  });

  it('allow asks for an acknowledgement where nobody can type yes, and asks no service before', async () => {
    const { code, stderr } = await at.holdpoint('policy', 'allow', 'FileRW.shred', '--space', 'acme');
    expect(code).toBe(2);
    expect(stderr).toContain('--acknowledge');
    expect(at.asked).toEqual([]);
  });

  it('allow --acknowledge sends the whole list with the new action', async () => {
    at.answers.set('PUT /api/v1/spaces/acme/policy', { json: policy('FileRW.purge_folder', 'FileRW.shred') });
    const { code } = await at.holdpoint('policy', 'allow', 'FileRW.shred', '--acknowledge');
    expect(code).toBe(0);
    expect(sent('PUT')).toEqual([
      {
        url: '/api/v1/spaces/acme/policy',
        body: { allowDestructive: ['FileRW.purge_folder', 'FileRW.shred'], acknowledged: true },
      },
    ]);
  });

  it('allow at a terminal says what it destroys, and takes nothing for an acknowledgement but a typed yes', async () => {
    at.answers.set('PUT /api/v1/spaces/acme/policy', { json: policy('FileRW.purge_folder', 'FileRW.shred') });
    for (const answer of ['y', '']) {
      const { code, stdout } = await at.atTerminal(answer, 'policy', 'allow', 'FileRW.shred');
      expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining('not confirmed with yes') });
      expect(sent('PUT')).toEqual([]);
    }
    const { code, stdout } = await at.atTerminal('yes', 'policy', 'allow', 'FileRW.shred');
    expect(code).toBe(0);
    expect(stdout).toMatch(/FileRW\.shred, by assistant:.*Destroys: Files.*cannot be undone.*type yes: /s);
    expect(stdout).not.toMatch(UNSAFE);
    const whole = { allowDestructive: ['FileRW.purge_folder', 'FileRW.shred'], acknowledged: true };
    expect(sent('PUT').map((s) => s.body)).toEqual([whole]);
  });

  it('allow of what is allowed already asks nobody and sends nothing', async () => {
    const { code, stdout } = await at.atTerminal('', 'policy', 'allow', 'FileRW.purge_folder');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('acme allows that already') });
    expect(sent('PUT')).toEqual([]);
  });

  it('revoke sends the list without it, and acknowledges nothing', async () => {
    at.answers.set('PUT /api/v1/spaces/acme/policy', { json: policy() });
    const { code, stdout } = await at.holdpoint('--json', 'policy', 'revoke', 'FileRW.purge_folder', '--space', 'acme');
    expect({ code, said: JSON.parse(stdout) }).toEqual({ code: 0, said: policy() });
    expect(sent('PUT').map((s) => s.body)).toEqual([{ allowDestructive: [] }]);
  });

  it('revoke reads the list again when somebody else took something out of it meanwhile', async () => {
    let puts = 0;
    at.answers.set('GET /api/v1/spaces/acme/policy', () => ({
      json: puts === 0 ? policy('FileRW.purge_folder', 'FileRW.shred') : policy('FileRW.purge_folder'),
    }));
    at.answers.set('PUT /api/v1/spaces/acme/policy', () => {
      puts += 1;
      if (puts > 1) return { json: policy() };
      const detail = 'What FileRW.shred destroys cannot be brought back.';
      return {
        status: 400,
        json: { type: 'about:blank', title: 'x', status: 400, detail, code: 'policy.not-acknowledged' },
      };
    });
    expect(await at.holdpoint('policy', 'revoke', 'FileRW.purge_folder')).toMatchObject({ code: 0 });
    expect(sent('PUT').map((s) => s.body)).toEqual([{ allowDestructive: ['FileRW.shred'] }, { allowDestructive: [] }]);
  });

  it('revoke of what is not allowed says so and changes nothing', async () => {
    const { code, stderr } = await at.holdpoint('policy', 'revoke', 'FileRW.shred');
    expect(code).toBe(1);
    expect(stderr).toContain('acme does not allow FileRW.shred');
    expect(sent('PUT')).toEqual([]);
  });

  it('audit says who did what', async () => {
    const entry = { id: '8f4ad3f0-6b0a-4f3f-9d8a-0d8f3c1f2a11', spaceId: 'acme', actorId: 'ada', at: when };
    at.answers.set('GET /api/v1/spaces/acme/policy/audit?limit=50', {
      json: {
        entries: [{ ...entry, actorDisplayName: `Ada${HOSTILE}`, action: 'added', toolName: 'FileRW.purge_folder' }],
        nextCursor: 'c1',
      },
    });
    const { code, stdout } = await at.holdpoint('policy', 'audit');
    expect(code).toBe(0);
    expect(stdout).toMatch(/Ada.* \(ada\) +allowed +FileRW\.purge_folder[\s\S]*--before c1/);
    expect(stdout).not.toMatch(UNSAFE);
  });
});

describe('members and spaces', () => {
  it('lists both, and no text of a stranger gets out', async () => {
    for (const command of ['spaces', 'members']) {
      const { code, stdout } = await at.holdpoint(command);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^(acme|mia) /m);
      expect(stdout).not.toMatch(UNSAFE);
    }
  });

  it('groups keeps the role; role keeps the groups; a stranger is made a member by add alone', async () => {
    at.answers.set('PUT /api/v1/spaces/acme/members/mia', { json: mia });
    expect(await at.holdpoint('members', 'groups', 'mia', 'ops', 'legal')).toMatchObject({ code: 0 });
    expect(await at.holdpoint('members', 'role', 'mia', 'admin')).toMatchObject({ code: 0 });
    expect((await at.holdpoint('members', 'role', 'mai', 'admin')).stderr).toContain('mai is no member of acme');
    expect(sent('PUT').map((s) => s.body)).toEqual([{ role: 'member', groups: ['ops', 'legal'] }, { role: 'admin' }]);
  });

  it('add takes in who is no member yet, with what was said of them alone', async () => {
    const otto: MemberView = {
      ...mia,
      userId: 'otto',
      displayName: `Otto${HOSTILE}`,
      role: 'admin',
      groups: ['risk', 'ops'],
    };
    at.answers.set('PUT /api/v1/spaces/acme/members/otto', { json: otto });
    const full = await at.holdpoint(
      'members',
      'add',
      'otto',
      '--role',
      'admin',
      '--name',
      'Otto',
      '--groups',
      'risk,ops',
    );
    expect(full).toMatchObject({ code: 0, stdout: 'otto is admin of acme, in the groups risk, ops.\n' });
    expect(await at.holdpoint('members', 'add', 'otto', '--role', 'member')).toMatchObject({ code: 0 });
    expect(sent('PUT')).toEqual([
      {
        url: '/api/v1/spaces/acme/members/otto',
        body: { role: 'admin', displayName: 'Otto', groups: ['risk', 'ops'] },
      },
      { url: '/api/v1/spaces/acme/members/otto', body: { role: 'member' } },
    ]);
  });

  it.each([
    ['who is a member already', ['mia', '--role', 'owner'], 1, 'mia is a member already: member'],
    ['a role that is none', ['otto', '--role', 'king'], 2, 'owner, admin, member'],
    ['a group that is no name', ['otto', '--role', 'member', '--groups', 'Risk!'], 2, 'A group is named'],
  ])('add refuses %s, and changes nothing', async (_, typed, code, said) => {
    const ended = await at.holdpoint('members', 'add', ...typed);
    expect(ended).toMatchObject({ code, stderr: expect.stringContaining(said) });
    expect(sent('PUT')).toEqual([]);
  });

  it('remove takes out exactly who was named, and nobody in place of a name that was mistyped', async () => {
    at.answers.set('DELETE /api/v1/spaces/acme/members/mia', { status: 204 });
    expect(await at.holdpoint('members', 'remove', 'mai')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('mai is no member of acme'),
    });
    expect(sent('DELETE')).toEqual([]);
    expect(await at.holdpoint('members', 'remove', 'mia')).toMatchObject({
      code: 0,
      stdout: 'mia is no member of acme any more.\n',
    });
    expect(sent('DELETE')).toEqual([{ url: '/api/v1/spaces/acme/members/mia', body: undefined }]);
    const lastOwner = {
      type: 'about:blank',
      title: 'x',
      status: 409,
      detail: 'A space keeps an owner.',
      code: 'policy.last-owner',
    };
    at.answers.set('DELETE /api/v1/spaces/acme/members/mia', { status: 409, json: lastOwner });
    expect(await at.holdpoint('members', 'remove', 'mia')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('A space keeps an owner.'),
    });
  });

  it('whoever is in several spaces has to name one', async () => {
    at.answers.set('GET /api/v1/spaces', { json: { items: [space('acme'), space('other')] } });
    const { code, stderr } = await at.holdpoint('members');
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('acme, other') });
  });
});

describe('rules', () => {
  it('what show --json prints is what set takes; a file with a bad rule is sent nowhere', async () => {
    const rule = { server: null, tool: 'Mail', action: 'send', agent: null, verdict: 'deny', reason: `no${HOSTILE}.` };
    const view = {
      spaceId: 'acme',
      rules: [{ ...rule, requirement: null, expiresAfterSeconds: null }],
      updatedAt: when,
      updatedBy: 'ada',
    };
    at.answers.set('GET /api/v1/spaces/acme/rules', { json: view });
    at.answers.set('PUT /api/v1/spaces/acme/rules', { json: view });
    const file = join(at.home, 'rules.json');
    await writeFile(file, (await at.holdpoint('--json', 'rules')).stdout);
    const { code, stdout } = await at.holdpoint('rules', 'set', file);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Mail\.send +any agent +deny /m);
    expect(stdout).not.toMatch(UNSAFE);
    expect(sent('PUT').map((s) => s.body)).toEqual([{ rules: view.rules }]);
    await writeFile(file, JSON.stringify({ rules: [{ ...rule, verdict: 'maybe' }] }));
    expect(await at.holdpoint('rules', 'set', file)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('rules.0.verdict'),
    });
    expect(sent('PUT')).toHaveLength(1);
  });
});

describe('halt, lift, halts', () => {
  it('halts exactly what was named, lists and lifts it', async () => {
    at.answers.set('POST /api/v1/halts', { json: halted });
    at.answers.set('POST /api/v1/halts/h1/lift', { json: { ...halted, liftedBy: 'ada', liftedAt: when } });
    at.answers.set('GET /api/v1/halts', { json: { items: [halted] } });
    expect(await at.holdpoint('halt', '--agent', 'assistant', '--reason', 'nonsense')).toMatchObject({ code: 0 });
    const { stdout } = await at.holdpoint('halts');
    expect(stdout).toMatch(/^h1 +agent assistant of acme +ada /m);
    expect(stdout).not.toMatch(UNSAFE);
    expect(await at.holdpoint('lift', 'h1')).toMatchObject({ code: 0 });
    expect(sent('POST')).toEqual([
      { url: '/api/v1/halts', body: { scope: 'agent', spaceId: 'acme', agent: 'assistant', reason: 'nonsense' } },
      { url: '/api/v1/halts/h1/lift', body: {} },
    ]);
    const both = await at.holdpoint('halt', '--everything', '--space', 'acme', '--reason', 'x');
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('--everything') });
  });
});

describe('erase', () => {
  it('sends what was named, says what was left alone, and erases nothing by accident', async () => {
    at.answers.set('POST /v1/erasures', { json: { destroyed: 2, busy: ['talk-9'] } });
    const named = ['--person', 'ben', '--before', '2026-01-01', '--reason', 'asked for'];
    expect(await at.holdpoint('erase', ...named)).toMatchObject({ code: 2, stdout: '' });
    expect(at.asked.filter((a) => a.method === 'POST')).toEqual([]);
    const ended = await at.holdpoint('erase', ...named, '--yes');
    expect(ended.code).toBe(1);
    expect(ended.stdout).toMatch(/2 conversations erased.*\n.*talk-9/s);
    expect(at.asked.at(-1)?.body).toEqual({
      spaceId: 'acme',
      personId: 'ben',
      before: '2026-01-01T00:00:00.000Z',
      reason: 'asked for',
    });
    for (const wrong of [[], ['--everything', '--person', 'ben'], ['--before', 'soon']])
      expect((await at.holdpoint('erase', '--reason', 'x', '--yes', ...wrong)).code).toBe(2);
  });
});
