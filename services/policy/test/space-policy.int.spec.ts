import { spacePolicyAudit, spacePolicyView } from '@holdpoint/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { actionOf, DESTRUCTIVE, openSpaces, type SpacesFixture } from './spaces-fixture.js';

let f: SpacesFixture;
beforeAll(async () => {
  f = await openSpaces();
});
afterAll(() => f.close());

let n = 0;
let space: string;
const found = async () => {
  space = `space-${++n}`;
  await f.found(space);
};

const path = (of = space) => `/api/v1/spaces/${of}/policy`;
const get = (as: string, of = space) => f.ask(as, 'GET', path(of));
const put = (as: string, allowDestructive: unknown[], acknowledged?: unknown) =>
  f.ask(as, 'PUT', path(), { allowDestructive, ...(acknowledged === undefined ? {} : { acknowledged }) });
const auditAnswer = (as: string, query: string) => f.ask(as, 'GET', `${path()}/audit${query}`);
const audit = async (as: string, query = '') => spacePolicyAudit.parse((await auditAnswer(as, query)).body);
const [PURGE, EXPUNGE, DROP] = DESTRUCTIVE as [string, string, string];
const NOTHING = { allowDestructive: [], updatedAt: null, updatedBy: null };

describe('GET', () => {
  beforeEach(found);

  test('every member reads it; before anything was set nothing is allowed and nobody set it', async () => {
    for (const as of ['ada', 'ben', 'mia'])
      expect(await get(as)).toEqual({ status: 200, body: { spaceId: space, ...NOTHING } });
    await put('ada', [PURGE], true);
    expect(spacePolicyView.parse((await get('mia')).body)).toMatchObject({
      allowDestructive: [PURGE],
      updatedBy: 'ada',
    });
  });

  test('a non-member gets the answer of a space that is not there, on every route', async () => {
    const there = await get('otto');
    const nowhere = await get('otto', 'nowhere');
    expect(f.codeOf(there)).toBe('404 auth.not-found');
    expect(there).toEqual(nowhere);
    expect(f.codeOf(await put('otto', [PURGE], true))).toBe('404 auth.not-found');
    for (const rest of ['policy/audit', 'rules', 'rules/audit', 'tools'])
      expect(f.codeOf(await f.ask('otto', 'GET', `/api/v1/spaces/${space}/${rest}`))).toBe('404 auth.not-found');
    expect((await f.ask('', 'GET', path())).status).toBe(401);
    expect(f.codeOf(await get('staging'))).toBe('403 auth.people-only');
  });

  test('services read any space, with either credential; people do not', async () => {
    await put('ada', [DROP], true);
    const internal = `/internal/spaces/${space}/policy`;
    const byToken = await f.ask('staging', 'GET', internal);
    expect(byToken).toEqual({ status: 200, body: (await get('ada')).body });
    expect(await f.ask('', 'GET', internal, undefined, { 'x-service-key': f.tokens.staging })).toEqual(byToken);
    expect(await f.ask('staging', 'GET', '/internal/spaces/nowhere/policy')).toEqual({
      status: 200,
      body: { spaceId: 'nowhere', ...NOTHING },
    });
    expect((await f.ask('ada', 'GET', internal)).status).toBe(403);
    expect((await f.ask('', 'GET', internal, undefined, { 'x-service-key': 'wrong' })).status).toBe(401);
  });
});

describe('PUT', () => {
  beforeEach(found);

  test('owner and admin set the whole list, not a change to it', async () => {
    expect((await put('ada', [PURGE, DROP], true)).body).toMatchObject({
      spaceId: space,
      allowDestructive: [PURGE, DROP],
      updatedBy: 'ada',
    });
    expect((await put('ben', [EXPUNGE], true)).body).toMatchObject({ allowDestructive: [EXPUNGE], updatedBy: 'ben' });
    expect((await get('ada')).body).toMatchObject({ allowDestructive: [EXPUNGE], updatedBy: 'ben' });
  });

  test('a member is refused, and so is an admin who is one no more', async () => {
    expect(f.codeOf(await put('mia', [PURGE], true))).toBe('403 auth.role-missing');
    await f.ask('ada', 'PUT', `/api/v1/spaces/${space}/members/ben`, { role: 'member' });
    expect(f.codeOf(await put('ben', [], true))).toBe('403 auth.role-missing');
    expect((await get('ada')).body).toMatchObject(NOTHING);
    expect(await audit('ada')).toEqual({ entries: [] });
  });

  test('missing acknowledged on add: 400; what only removes needs none', async () => {
    for (const acknowledged of [undefined, false]) {
      const answer = await put('ada', [PURGE], acknowledged);
      expect(f.codeOf(answer)).toBe('400 policy.not-acknowledged');
      expect(answer.body.detail).toContain(PURGE);
    }
    expect(f.codeOf(await put('ada', [PURGE], 'true'))).toBe('400 request.invalid');
    expect((await put('ada', [PURGE, DROP], true)).status).toBe(200);
    expect((await put('ada', [PURGE])).status).toBe(200);
    // One out, one in: no longer than before, and new all the same.
    expect(f.codeOf(await put('ada', [EXPUNGE]))).toBe('400 policy.not-acknowledged');
    expect((await get('ada')).body.allowDestructive).toEqual([PURGE]);
  });

  test('a tool that was withdrawn, or is not destructive any more, blocks no revoke and is not allowed anew', async () => {
    await put('ada', DESTRUCTIVE, true);
    await f.announce(space, 'filerw', { withdrawn: true, agents: [], actions: [] });
    await f.announce(space, 'drop', { actions: [actionOf(null, 'write')] });
    expect((await put('ada', [PURGE, DROP])).body.allowDestructive).toEqual([PURGE, DROP]);
    // what is new has to be known all the same, and is named by its place in the list
    const beside = await put('ada', [PURGE, DROP, 'FileRW.shred'], true);
    expect(f.codeOf(beside)).toBe('400 policy.unknown-tool');
    expect(beside.body.errors).toMatchObject([{ field: 'allowDestructive.2' }]);
    expect((await put('ada', [PURGE])).body.allowDestructive).toEqual([PURGE]);
    expect((await put('ada', [])).body.allowDestructive).toEqual([]);
    expect(f.codeOf(await put('ada', [PURGE], true))).toBe('400 policy.unknown-tool');
    expect(f.codeOf(await put('ada', [DROP], true))).toBe('400 policy.not-destructive');
    expect((await f.told(space)).map((e) => e.data.removed)).toEqual([[], [EXPUNGE], [DROP], [PURGE]]);
  });

  test('preferences, audit and event are one transaction, or nothing', async () => {
    await put('ada', [PURGE], true);
    const before = (await get('ada')).body;
    for (const [table, check] of [
      ['outbox', `entity <> '${space}.${space}'`],
      ['space_policy_audit', `space_id <> '${space}'`],
    ]) {
      await sql.raw(`ALTER TABLE policy.${table} ADD CONSTRAINT closed CHECK (${check}) NOT VALID`).execute(f.db);
      expect((await put('ada', [EXPUNGE], true)).status).toBe(500);
      await sql.raw(`ALTER TABLE policy.${table} DROP CONSTRAINT closed`).execute(f.db);
      expect((await get('ada')).body).toEqual(before);
    }
    expect((await f.told(space)).map((e) => e.data.revision)).toEqual([1]);
  });

  test('a revoke is answered only when every answer from before it has run out', async () => {
    const slow = await f.start({ env: { ...f.settings, CHECK_VALID_MS: '700' } });
    const timed = async (list: string[]) => {
      const began = performance.now();
      expect(
        (await f.askAt(slow.url, 'ada', 'PUT', path(), { allowDestructive: list, acknowledged: true })).status,
      ).toBe(200);
      return performance.now() - began;
    };
    await timed([PURGE, DROP]);
    expect(await timed([PURGE])).toBeGreaterThan(700);
    await slow.close();
  });
});

describe('PUT refuses', () => {
  beforeAll(found);

  test.each([
    ['unknown-tool: the name of nothing', ['FileRW.purge', PURGE], 'policy.unknown-tool', 'FileRW.purge'],
    ['an action of another tool', ['Mail.purge_folder'], 'policy.unknown-tool', 'Mail.purge_folder'],
    ['a tool without its action', ['FileRW'], 'policy.unknown-tool', 'FileRW'],
    ['a tool on another server', ['hub/FileRW.purge_folder'], 'policy.unknown-tool', 'hub/FileRW'],
    ['another case', ['filerw.purge_folder'], 'policy.unknown-tool', 'filerw'],
    ['a dot that is part of a name, read as one', ['git/repo.drop'], 'policy.unknown-tool', 'git/repo.drop'],
    [
      'what is not destructive',
      [PURGE, 'FileRW.read', 'Mail.send'],
      'policy.not-destructive',
      'FileRW.read, Mail.send',
    ],
    ['the same twice', [PURGE, PURGE], 'request.invalid', ''],
    ['a second spelling of one action', ['builtin/FileRW.purge_folder'], 'request.invalid', ''],
    ['an encoded letter', ['%46ileRW.purge_folder'], 'request.invalid', ''],
    ['a wildcard', ['FileRW.*'], 'request.invalid', ''],
    ['no text', [7], 'request.invalid', ''],
    ['more than 50', Array.from({ length: 51 }, (_, i) => `Tool.a${i}`), 'request.invalid', ''],
  ])('%s: 400, and nothing changes', async (_, list, code, named) => {
    const answer = await put('ada', list, true);
    expect(f.codeOf(answer)).toBe(`400 ${code}`);
    expect(answer.body.detail).toContain(named);
    expect((await get('ada')).body).toMatchObject(NOTHING);
  });
});

describe('the audit', () => {
  beforeEach(found);

  const told = (entries: { action: string; toolName: string; actorId: string }[]) =>
    entries.map((e) => `${e.actorId} ${e.action} ${e.toolName}`).sort();

  test('audit-row correctness: one for each action added or removed, by whom and when; the same again adds none', async () => {
    await put('ada', [PURGE, EXPUNGE], true);
    const second = (await put('ben', [EXPUNGE, DROP], true)).body;
    await put('ben', [DROP, EXPUNGE], true);
    const { entries } = await audit('mia');
    expect(told(entries.slice(0, 2))).toEqual([`ben added ${DROP}`, `ben removed ${PURGE}`]);
    expect(told(entries.slice(2))).toEqual([`ada added ${PURGE}`, `ada added ${EXPUNGE}`]);
    expect(entries[0]).toMatchObject({ spaceId: space, actorDisplayName: 'Ben', at: second.updatedAt });
    await f.ask('ada', 'DELETE', `/api/v1/spaces/${space}/members/ben`);
    expect((await audit('mia')).entries[0]).toMatchObject({ actorId: 'ben', actorDisplayName: 'ben' });
  });

  test('pages follow each other without gap or repetition, also through rows of one moment', async () => {
    await put('ada', DESTRUCTIVE, true);
    await put('ada', []);
    const { entries: all } = await audit('mia');
    const paged = [];
    let query = '?limit=1';
    for (let page = await audit('mia', query); ; page = await audit('mia', query)) {
      paged.push(...page.entries);
      if (page.nextCursor === undefined) break;
      query = `?limit=1&cursor=${page.nextCursor}`;
    }
    expect(all).toHaveLength(6);
    expect(paged).toEqual(all);
    for (const wrong of ['?limit=0', '?limit=201', '?cursor=x', `?cursor=1_${'0'.repeat(36)}`])
      expect((await auditAnswer('mia', wrong)).status).toBe(400);
  });

  test('concurrent-write LWW: the last list holds, and the audit tells what each writer changed', async () => {
    await f.another();
    const lists = Array.from({ length: 24 }, (_, i) => DESTRUCTIVE.filter((_, bit) => (i * 5 + 3) & (1 << bit)));
    const answers = await Promise.all(lists.map((list, i) => put(i % 2 ? 'ada' : 'ben', list, true)));
    expect(new Set(answers.map((a) => a.status))).toEqual(new Set([200]));
    const { rows } = await sql<{ action: string; tool_name: string; actor_id: string; revision: number }>`
      SELECT action, tool_name, actor_id, revision FROM policy.space_policy_audit WHERE space_id = ${space}
      ORDER BY revision`.execute(f.db);
    const allowed = new Set<string>();
    for (const { action, tool_name: tool } of rows) {
      expect(allowed.has(tool)).toBe(action === 'removed');
      if (action === 'added') allowed.add(tool);
      else allowed.delete(tool);
    }
    const final = (await get('mia')).body;
    expect(final.allowDestructive.toSorted()).toEqual([...allowed].sort());
    const events = await f.told(space);
    expect(events.map((e) => e.data.revision)).toEqual(events.map((_, i) => i + 1));
    expect(events.at(-1)?.data).toMatchObject({
      by: { id: final.updatedBy },
      allowDestructive: final.allowDestructive,
    });
    const audited = rows.map((r) => `${r.revision} ${r.actor_id} ${r.action} ${r.tool_name}`).sort();
    const saidBy = events.flatMap(({ data }) => [
      ...data.added.map((name) => `${data.revision} ${data.by.id} added ${name}`),
      ...data.removed.map((name) => `${data.revision} ${data.by.id} removed ${name}`),
    ]);
    expect(audited).toEqual(saidBy.sort());
  });
});

test('changes are counted', async () => {
  await found();
  const count = async (action: string) => {
    const text = await (await fetch(`${f.url0}/metrics`)).text();
    return Number(
      new RegExp(`^holdpoint_space_policy_changes_total\\{action="${action}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0,
    );
  };
  const before = { added: await count('added'), removed: await count('removed') };
  await put('ada', [PURGE, DROP], true);
  await put('ada', [DROP]);
  expect({ added: await count('added'), removed: await count('removed') }).toEqual({
    added: before.added + 2,
    removed: before.removed + 1,
  });
});
