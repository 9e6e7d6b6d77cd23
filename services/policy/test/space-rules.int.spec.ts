import { haltView, type SpaceToolView, spaceRulesAudit, spaceRulesView } from '@holdpoint/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openSpaces, type SpacesFixture } from './spaces-fixture.js';

let f: SpacesFixture;
beforeAll(async () => {
  f = await openSpaces({ HOLDPOINT_OPERATORS: 'olga' });
});
afterAll(() => f.close());

let n = 0;
let space: string;
const found = async () => {
  space = `space-${++n}`;
  await f.found(space);
};

const at = (rest: string) => `/api/v1/spaces/${space}/${rest}`;
const get = (as: string, rest: string) => f.ask(as, 'GET', at(rest));
const put = (as: string, rules: object[]) => f.ask(as, 'PUT', at('rules'), { rules });
const anything = {
  server: null,
  tool: null,
  action: null,
  agent: null,
  reason: null,
  requirement: null,
  expiresAfterSeconds: null,
};
const twoOfRisk = { roles: [], users: [], groups: ['risk'], votes: 2, fromGroups: 0, requesterExcluded: true };

describe('rules', () => {
  beforeEach(found);

  test('a list replaces the list; an absent field stands for any; the audit has one row for each rule added or removed', async () => {
    expect((await get('mia', 'rules')).body).toEqual({ spaceId: space, rules: [], updatedAt: null, updatedBy: null });
    const purge = { tool: 'FileRW', action: 'purge_folder', verdict: 'deny', reason: 'Never.' };
    const send = { tool: 'Mail', action: 'send', verdict: 'approve', requirement: twoOfRisk, expiresAfterSeconds: 600 };
    const first = await put('ada', [purge, { verdict: 'approve', agent: 'cleaner' }]);
    expect(spaceRulesView.parse(first.body)).toMatchObject({
      rules: [
        { ...anything, ...purge },
        { ...anything, verdict: 'approve', agent: 'cleaner' },
      ],
      updatedBy: 'ada',
    });
    const second = await put('ben', [send, purge]);
    expect(second.status).toBe(200);
    expect((await put('ben', [{ server: null, ...send }, purge])).body).toEqual(second.body);
    expect((await get('mia', 'rules')).body).toEqual(second.body);
    const { entries } = spaceRulesAudit.parse((await get('mia', 'rules/audit?limit=2')).body);
    expect(entries.map((e) => `${e.actorDisplayName} ${e.action} ${e.rule.tool}`).sort()).toEqual([
      'Ben added Mail',
      'Ben removed null',
    ]);
    expect(entries.find((e) => e.action === 'added')?.rule).toEqual({ ...anything, ...send });
    const told = await f.told(space);
    expect(told.map(({ data }) => [data.what, data.revision, data.added, data.removed])).toEqual([
      ['rules', 1, ['space: FileRW.purge_folder: deny', 'space: default for agent cleaner: approve'], []],
      ['rules', 2, ['space: Mail.send: approve'], ['space: default for agent cleaner: approve']],
    ]);
    expect(JSON.parse(told[1]?.data.rules as string)).toEqual(second.body.rules);
  });

  test('members read, owners and admins write', async () => {
    expect(f.codeOf(await put('mia', []))).toBe('403 auth.role-missing');
    expect(f.codeOf(await put('otto', []))).toBe('404 auth.not-found');
    expect((await put('ben', [])).body).toMatchObject({ rules: [], updatedBy: 'ben' });
  });
});

describe('rules refused', () => {
  beforeAll(found);

  test.each<[string, object, string]>([
    ['an unknown tool', { tool: 'Mial', verdict: 'deny' }, 'rules.1.tool'],
    ['an unknown action', { tool: 'Mail', action: 'sned', verdict: 'deny' }, 'rules.1.action'],
    ['an action of another tool', { tool: 'Mail', action: 'read', verdict: 'deny' }, 'rules.1.action'],
    ['an unknown server', { server: 'hub', tool: 'Mail', verdict: 'deny' }, 'rules.1.server'],
    ['a tool of another server', { server: 'git', tool: 'Mail', verdict: 'deny' }, 'rules.1.tool'],
    ['an unknown agent', { agent: 'Assistant', verdict: 'deny' }, 'rules.1.agent'],
    ['a joined name', { tool: 'Mail.send', verdict: 'deny' }, 'rules.1.tool'],
    ['the same calls as another rule', { tool: 'Mail', server: null, verdict: 'approve' }, 'rules.1.verdict'],
  ])('%s: the list is refused as a whole, with the index', async (_, wrong, field) => {
    const answer = await put('ada', [{ tool: 'Mail', verdict: 'deny' }, wrong]);
    expect(f.codeOf(answer)).toBe('400 policy.rules-refused');
    expect(answer.body.errors.map((e: { field: string }) => e.field)).toEqual([field]);
    expect((await get('ada', 'rules')).body.updatedAt).toBeNull();
  });

  test.each<[string, object]>([
    ['an action without its tool', { action: 'send', verdict: 'deny' }],
    ['a requirement of what nobody releases', { tool: 'Mail', verdict: 'deny', requirement: twoOfRisk }],
    [
      'a requirement that nobody can meet',
      { tool: 'Mail', verdict: 'approve', requirement: { ...twoOfRisk, groups: [] } },
    ],
    ['an unknown verdict', { tool: 'Mail', verdict: 'allow' }],
    ['an unknown field', { tool: 'Mail', verdict: 'deny', loosenable: true }],
  ])('%s is malformed', async (_, wrong) => {
    expect(f.codeOf(await put('ada', [wrong]))).toBe('400 request.invalid');
  });
});

test('the tools of a space, each action with what would become of it, agent by agent', async () => {
  await found();
  await f.ask('ada', 'PUT', at('rules'), {
    rules: [{ tool: 'Mail', action: 'send', agent: 'cleaner', verdict: 'deny' }],
  });
  await f.ask('ada', 'PUT', at('policy'), { allowDestructive: ['FileRW.purge_folder'], acknowledged: true });
  const { items } = (await get('mia', 'tools')).body as { items: SpaceToolView[] };
  expect(items.map((t) => `${t.server} ${t.tool}`)).toEqual(['builtin FileRW', 'builtin Mail', 'git repo.drop']);
  expect(items[0]).toMatchObject({ affectedData: 'Files and folders of the agent', description: 'What filerw does' });
  const words = items.flatMap((t) =>
    t.actions.map(
      (a) =>
        `${a.toolName}${a.optedIn ? ' (in)' : ''}: ${a.verdicts.map((v) => `${v.agent} ${v.verdict} by ${v.rule}`).join(', ')}`,
    ),
  );
  expect(words).toEqual([
    'FileRW.purge_folder (in): assistant auto by builtin: default, cleaner auto by builtin: default',
    'FileRW.delete: assistant approve by builtin: FileRW.delete, cleaner approve by builtin: FileRW.delete',
    'FileRW.read: assistant auto by builtin: default, cleaner auto by builtin: default',
    'Mail.send: assistant approve by builtin: Mail.send, cleaner deny by space: Mail.send for agent cleaner',
    'Mail.expunge: assistant deny by builtin: default, cleaner deny by builtin: default',
    'git/repo%2Edrop: assistant approve by builtin: foreign tools, cleaner approve by builtin: foreign tools',
  ]);
});

describe('halts', () => {
  beforeEach(found);

  const halt = (as: string, body: object) => f.ask(as, 'POST', '/api/v1/halts', { reason: 'Look first.', ...body });
  const lift = (as: string, id: string) => f.ask(as, 'POST', `/api/v1/halts/${id}/lift`);
  const listed = async (as: string, query = `?spaceId=${space}`) =>
    (await f.ask(as, 'GET', `/api/v1/halts${query}`)).body.items.map((h: { id: string }) => h.id);

  test('owners and admins halt their space or one agent of it, and lift it once', async () => {
    const made = await halt('ben', { scope: 'agent', spaceId: space, agent: 'cleaner' });
    expect(made.status).toBe(201);
    const { id } = haltView.parse(made.body);
    expect(made.body).toMatchObject({ scope: 'agent', agent: 'cleaner', setBy: 'ben', liftedAt: null });
    const whole = haltView.parse((await halt('ada', { scope: 'space', spaceId: space })).body);
    expect(await listed('mia')).toEqual([whole.id, id]);
    expect(await listed('mia', `?spaceId=${space}&limit=1&cursor=${whole.id}`)).toEqual([id]);
    expect((await lift('ada', id)).body).toMatchObject({ liftedBy: 'ada', liftedAt: expect.any(String) });
    const again = await lift('ben', id);
    expect(f.codeOf(again)).toBe('409 policy.halt-lifted');
    expect(again.body).toMatchObject({ liftedBy: 'ada' });
    expect(await listed('mia')).toEqual([whole.id]);
    expect(await listed('mia', `?spaceId=${space}&all=true`)).toEqual([whole.id, id]);
    const told = await f.told(space);
    expect(told.map(({ data }) => data.halt)).toEqual([
      { id, scope: 'agent', agent: 'cleaner', reason: 'Look first.', lifted: false },
      { id: whole.id, scope: 'space', agent: null, reason: 'Look first.', lifted: false },
      { id, scope: 'agent', agent: 'cleaner', reason: 'Look first.', lifted: true },
    ]);
  });

  test('members and strangers halt and lift nothing; a stranger learns of nothing', async () => {
    const { id } = (await halt('ada', { scope: 'space', spaceId: space })).body;
    expect(f.codeOf(await halt('mia', { scope: 'space', spaceId: space }))).toBe('403 auth.role-missing');
    expect(f.codeOf(await lift('mia', id))).toBe('403 auth.role-missing');
    expect(f.codeOf(await halt('otto', { scope: 'space', spaceId: space }))).toBe('404 auth.not-found');
    expect(f.codeOf(await lift('otto', id))).toBe('404 auth.not-found');
    expect(await lift('otto', id)).toEqual(await lift('otto', 'nothing'));
    expect((await f.ask('otto', 'GET', `/api/v1/halts?spaceId=${space}`)).status).toBe(404);
    expect(await listed('otto', '')).toEqual([]);
  });

  test('everything is for operators, and everybody sees it', async () => {
    expect(f.codeOf(await halt('ada', { scope: 'everything' }))).toBe('403 policy.operators-only');
    const { id } = (await halt('olga', { scope: 'everything' })).body;
    expect(await listed('mia')).toContain(id);
    expect(f.codeOf(await lift('ada', id))).toBe('403 policy.operators-only');
    expect((await lift('olga', id)).status).toBe(200);
    expect((await f.told('_all')).map(({ data }) => [data.revision, data.halt?.lifted])).toEqual([
      [1, false],
      [2, true],
    ]);
    // No space can be mistaken for all of them.
    expect((await f.ask('ada', 'POST', '/api/v1/spaces', { spaceId: '_all', name: 'x' })).status).toBe(400);
  });

  test.each<[string, object, string]>([
    ['an agent that nobody has', { scope: 'agent', agent: 'Cleaner' }, 'policy.unknown-agent'],
    ['an agent without its name', { scope: 'agent' }, 'request.invalid'],
    ['a space and an agent', { scope: 'space', agent: 'cleaner' }, 'request.invalid'],
    ['no reason', { scope: 'space', reason: ' ' }, 'request.invalid'],
  ])('%s stops nothing and is refused', async (_, body, code) => {
    expect(f.codeOf(await halt('ada', { spaceId: space, ...body }))).toBe(`400 ${code}`);
  });
});

test('members have groups, and services are told of them', async () => {
  await found();
  const groupsOf = async (userId: string) =>
    (await f.ask('staging', 'GET', `/internal/members/${userId}/spaces`)).body.groups[space];
  expect(await groupsOf('mia')).toEqual(['risk']);
  const set = (body: object) => f.ask('ada', 'PUT', at('members/mia'), { role: 'member', ...body });
  expect((await set({ groups: ['legal', 'risk'] })).body.groups).toEqual(['legal', 'risk']);
  expect((await set({ displayName: 'Mia M.' })).body.groups).toEqual(['legal', 'risk']);
  expect(await groupsOf('mia')).toEqual(['legal', 'risk']);
  expect((await set({ groups: [] })).body.groups).toEqual([]);
  for (const groups of [['Risk'], ['a', 'a'], ['a b']]) expect((await set({ groups })).status).toBe(400);
});
