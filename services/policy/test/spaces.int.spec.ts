import { type HoldpointEvent, type Identity, memberView, page, problem, spaceView } from '@holdpoint/contracts';
import { createService, openDatabase, requireRole, Who } from '@holdpoint/runtime';
import { eventually, type TestIssuer, testIssuer } from '@holdpoint/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { asUser } from '../src/store/as-user.js';
import type { PolicyDatabase } from '../src/store/schema.js';
import { openPolicy, type PolicyFixture } from './fixture.js';

let fixture: PolicyFixture;
let issuer: TestIssuer;
let service: Awaited<ReturnType<PolicyFixture['start']>>;
let oidc: Record<string, string>;
beforeAll(async () => {
  [fixture, issuer] = await Promise.all([openPolicy(), testIssuer()]);
  oidc = { OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: issuer.audience };
  service = await fixture.start({ env: oidc });
});
afterAll(async () => {
  await fixture.close();
  await issuer.stop();
});

type MemberChanged = HoldpointEvent<'policy.member-changed'>;

let n = 0;
let space: string;
beforeEach(() => {
  space = `space-${++n}`;
});

async function ask(as: string, method: string, path: string, body?: object) {
  const token = Object.hasOwn(fixture.tokens, as) ? fixture.tokens[as as 'staging'] : await issuer.token(as);
  const answer = await fetch(`${service.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
}
const found = (members: object[] = []) =>
  ask('ada', 'POST', '/api/v1/spaces', { spaceId: space, name: 'Acme GmbH', members });
const team = [
  { userId: 'ben', displayName: 'Ben', role: 'admin' },
  { userId: 'mia', displayName: 'Mia', role: 'member' },
];
const set = (as: string, userId: string, role: string) =>
  ask(as, 'PUT', `/api/v1/spaces/${space}/members/${encodeURIComponent(userId)}`, { role });
const remove = (as: string, userId: string) => ask(as, 'DELETE', `/api/v1/spaces/${space}/members/${userId}`);
const roles = async (as = 'ada') => {
  const { body } = await ask(as, 'GET', `/api/v1/spaces/${space}/members`);
  return Object.fromEntries(
    page(memberView)
      .parse(body)
      .items.map((m) => [m.userId, m.role]),
  );
};
const codeOf = ({ status, body }: { status: number; body: unknown }) => `${status} ${problem.parse(body).code}`;

describe('the API', () => {
  test('a space begins with its creator as owner, and is there for its members alone', async () => {
    const made = await found(team);
    expect(made.status).toBe(201);
    expect(spaceView.parse(made.body)).toMatchObject({
      spaceId: space,
      name: 'Acme GmbH',
      role: 'owner',
      createdBy: 'ada',
    });
    expect(await roles('mia')).toEqual({ ada: 'owner', ben: 'admin', mia: 'member' });
    const mine = await ask('mia', 'GET', '/api/v1/spaces');
    expect(mine.body.items).toEqual([{ ...made.body, role: 'member' }]);
    expect((await ask('otto', 'GET', '/api/v1/spaces')).body.items).toEqual([]);
    expect(codeOf(await ask('otto', 'GET', `/api/v1/spaces/${space}/members`))).toBe('404 auth.not-found');
    expect(codeOf(await found())).toBe('409 policy.space-exists');
    expect(codeOf(await ask('ben', 'POST', '/api/v1/spaces', { spaceId: 'x', name: 'x' }))).toBe(
      '403 policy.space-creators-only',
    );
    expect(codeOf(await ask('staging', 'GET', '/api/v1/spaces'))).toBe('403 auth.people-only');
  });

  test('owners and admins change members; owners alone make and unmake owners; the last one stays', async () => {
    await found(team);
    expect((await set('ben', 'auth0|Max1', 'member')).body).toMatchObject({ displayName: 'auth0|Max1' });
    expect((await set('ben', 'mia', 'admin')).status).toBe(200);
    expect((await set('ben', 'mia', 'member')).body).toMatchObject({ displayName: 'Mia', changedBy: 'ben' });
    expect(codeOf(await set('ben', 'ben', 'owner'))).toBe('403 policy.owners-only');
    expect(codeOf(await set('ben', 'ada', 'member'))).toBe('403 policy.owners-only');
    expect(codeOf(await remove('ben', 'ada'))).toBe('403 policy.owners-only');
    expect(codeOf(await set('mia', 'mia', 'admin'))).toBe('403 auth.role-missing');
    expect(codeOf(await remove('mia', 'ben'))).toBe('403 auth.role-missing');
    expect(codeOf(await set('otto', 'otto', 'owner'))).toBe('404 auth.not-found');
    expect(codeOf(await remove('ada', 'ada'))).toBe('409 policy.last-owner');
    expect(codeOf(await set('ada', 'ada', 'admin'))).toBe('409 policy.last-owner');
    expect((await remove('mia', 'mia')).status).toBe(204);
    expect((await set('ada', 'ben', 'owner')).status).toBe(200);
    expect((await remove('ada', 'ada')).status).toBe(204);
    expect(codeOf(await ask('ada', 'GET', `/api/v1/spaces/${space}/members`))).toBe('404 auth.not-found');
    expect(await roles('ben')).toEqual({ 'auth0|Max1': 'member', ben: 'owner' });
  });

  test('owners who step down at once do not leave the space without one', async () => {
    await found([{ userId: 'ben', displayName: 'Ben', role: 'owner' }]);
    const answers = await Promise.all([remove('ada', 'ada'), remove('ben', 'ben')]);
    expect(answers.map((a) => a.status).sort()).toEqual([204, 409]);
  });

  test('each change is told in order, and only if it was one', async () => {
    await found(team);
    await set('ada', 'mia', 'admin');
    await set('ada', 'mia', 'admin');
    await remove('ada', 'mia');
    await remove('ada', 'mia');
    const told = await eventually(async () => {
      const { rows } = await sql<{ body: string; seq: number | null }>`
        SELECT body, seq::int FROM policy.outbox WHERE entity = ${`${space}.${space}`} ORDER BY id`.execute(fixture.db);
      return rows.every((r) => r.seq !== null) ? rows.map((r) => JSON.parse(r.body) as MemberChanged) : undefined;
    });
    expect(told[0]).toMatchObject({ type: 'policy.space-created', spaceid: space, subject: space });
    expect(told.slice(1).map(({ data }) => `${data.userId} ${data.role} ${data.changedBy.id}`)).toEqual([
      'ada owner ada',
      'ben admin ada',
      'mia member ada',
      'mia admin ada',
      'mia null ada',
    ]);
  });

  test('without its event there is no change', async () => {
    await found(team);
    await sql`ALTER TABLE policy.outbox ADD CONSTRAINT closed CHECK (entity <> ${sql.lit(`${space}.${space}`)}) NOT VALID`.execute(
      fixture.db,
    );
    expect((await set('ada', 'mia', 'owner')).status).toBe(500);
    expect((await remove('ada', 'mia')).status).toBe(500);
    expect(await roles()).toEqual({ ada: 'owner', ben: 'admin', mia: 'member' });
    await sql`ALTER TABLE policy.outbox DROP CONSTRAINT closed`.execute(fixture.db);
  });
});

describe('row-level security, below the service', () => {
  let db: Kysely<PolicyDatabase>;
  let reader: Kysely<PolicyDatabase>;
  beforeAll(() => {
    db = openDatabase<PolicyDatabase>(fixture.url('policy'), { max: 2 });
    reader = openDatabase<PolicyDatabase>(fixture.url('policy-reader'), { max: 1 });
  });
  afterAll(() => Promise.all([db.destroy(), reader.destroy()]));
  beforeEach(() => found(team));

  /** A statement as a person, with the name of the role's own doing in it: how many rows it touched, or the error. */
  const as = (userId: string, statement: string): Promise<number | string> =>
    asUser(db, userId, async (tx) =>
      Number((await sql.raw(statement.replaceAll('$s', `'${space}'`)).execute(tx)).numAffectedRows ?? 0),
    ).catch((err: Error) => err.message);
  const seen = (userId: string, table: string) =>
    asUser(
      db,
      userId,
      async (tx) => (await sql.raw(`SELECT * FROM ${table} WHERE space_id = '${space}'`).execute(tx)).rows.length,
    );
  const insert = (userId: string, role: string, by = userId) =>
    `INSERT INTO space_members (space_id, user_id, display_name, role, changed_by, changed_at) VALUES ($s, '${userId}', 'x', '${role}', '${by}', now())`;
  const DENIED = expect.stringMatching(/row-level security|permission denied/);

  test('the roles are what they are in production', async () => {
    for (const [connection, name] of [
      [db, 'hp_policy'],
      [reader, 'hp_policy_reader'],
    ] as const) {
      const { rows } =
        await sql`SELECT current_user::text AS me, rolbypassrls, rolsuper FROM pg_roles WHERE rolname = current_user`.execute(
          connection,
        );
      expect(rows).toEqual([{ me: name, rolbypassrls: false, rolsuper: false }]);
    }
    const { rows } = await sql`SELECT relname::text, relrowsecurity AND relforcerowsecurity AS forced FROM pg_class
      WHERE relnamespace = 'policy'::regnamespace AND relname LIKE 'space%' AND relkind = 'r'`.execute(db);
    expect(rows).toEqual(
      expect.arrayContaining(['spaces', 'space_members'].map((relname) => ({ relname, forced: true }))),
    );
  });

  test('members see their space, strangers and nobody see nothing', async () => {
    for (const table of ['spaces', 'space_members']) {
      const all = table === 'spaces' ? 1 : 3;
      for (const member of ['ada', 'ben', 'mia']) expect(await seen(member, table)).toBe(all);
      for (const other of ['otto', '', 'ADA']) expect(await seen(other, table)).toBe(0);
      expect((await sql.raw(`SELECT * FROM ${table}`).execute(db)).rows).toEqual([]);
    }
  });

  test('a member writes nothing, and nobody makes themselves more than they are', async () => {
    expect(await as('mia', `UPDATE space_members SET role = 'owner', changed_by = 'mia' WHERE space_id = $s`)).toBe(0);
    expect(await as('mia', `DELETE FROM space_members WHERE space_id = $s AND user_id <> 'mia'`)).toBe(0);
    expect(await as('mia', insert('eve', 'member', 'mia'))).toEqual(DENIED);
    expect(await as('otto', insert('otto', 'owner'))).toEqual(DENIED);
    expect(await as('otto', `INSERT INTO spaces VALUES ('not-mine', 'x', 'ada', now())`)).toEqual(DENIED);
    expect(await as('otto', `DELETE FROM space_members WHERE space_id = $s`)).toBe(0);
    expect(
      await as(
        'ben',
        `UPDATE space_members SET role = 'owner', changed_by = 'ben' WHERE space_id = $s AND user_id = 'ben'`,
      ),
    ).toEqual(DENIED);
    expect(await as('ben', `DELETE FROM space_members WHERE space_id = $s AND user_id = 'ada'`)).toBe(0);
    expect(await as('ben', insert('eve', 'owner', 'ben'))).toEqual(DENIED);
    expect(await as('ben', insert('eve', 'member', 'ada'))).toEqual(DENIED);
    expect(await as('ada', `UPDATE space_members SET user_id = 'eve' WHERE space_id = $s`)).toEqual(DENIED);
    expect(await as('ada', `UPDATE spaces SET created_by = 'eve'`)).toEqual(DENIED);
    expect(await as('ada', 'TRUNCATE space_members')).toEqual(DENIED);
    expect(await as('ada', `DELETE FROM space_members WHERE space_id = $s`)).toMatch(/last owner/);
    expect(await roles()).toEqual({ ada: 'owner', ben: 'admin', mia: 'member' });
  });

  test('an admin changes who is no owner, and an owner everybody', async () => {
    expect(await as('ben', insert('max', 'member', 'ben'))).toBe(1);
    expect(
      await as(
        'ben',
        `UPDATE space_members SET role = 'admin', changed_by = 'ben' WHERE space_id = $s AND user_id = 'max'`,
      ),
    ).toBe(1);
    expect(await as('ben', `DELETE FROM space_members WHERE space_id = $s AND user_id = 'mia'`)).toBe(1);
    expect(
      await as(
        'ada',
        `UPDATE space_members SET role = 'owner', changed_by = 'ada' WHERE space_id = $s AND user_id = 'max'`,
      ),
    ).toBe(1);
    expect(await as('max', `DELETE FROM space_members WHERE space_id = $s AND user_id = 'ada'`)).toBe(1);
  });

  test('the reader sees every space and changes none', async () => {
    expect((await reader.selectFrom('space_members').selectAll().where('space_id', '=', space).execute()).length).toBe(
      3,
    );
    for (const statement of [
      insert('eve', 'owner', 'ada'),
      'DELETE FROM space_members',
      `UPDATE space_members SET role = 'owner'`,
    ])
      for (const writable of ['', 'SET TRANSACTION READ WRITE'])
        await expect(
          reader.transaction().execute(async (tx) => {
            if (writable) await sql.raw(writable).execute(tx);
            await sql.raw(statement.replaceAll('$s', `'${space}'`)).execute(tx);
          }),
        ).rejects.toThrow(writable ? /permission denied/ : /permission denied|read-only/);
  });
});

describe('what other services know of a person', () => {
  @Controller()
  class Probe {
    @Get('whoami')
    whoami(@Who() who: Identity) {
      return who;
    }

    @Get('decide')
    decide(@Who() who: Identity) {
      requireRole(who, space, 'owner', 'admin');
      return {};
    }
  }
  @Module({ controllers: [Probe] })
  class ProbeModule {}

  test('is what the rows say at that moment, and nothing when policy does not answer', async () => {
    await found(team);
    const app = await createService({
      name: 'probe',
      module: ProbeModule,
      config: {
        HOST: '127.0.0.1',
        PORT: 0,
        LOG_LEVEL: 'fatal',
        HOLDPOINT_IDENTITY_FILE: fixture.identities,
        HOLDPOINT_SERVICE_TOKEN: fixture.tokens.staging,
        POLICY_URL: service.url,
        ...oidc,
      },
    });
    const url = await app.getUrl();
    const get = async (path: string, headers: Record<string, string>) => {
      const answer = await fetch(`${url}${path}`, { headers });
      return { status: answer.status, body: (await answer.json()) as { code?: string } };
    };
    const ben = { authorization: `Bearer ${await issuer.token('ben', { name: 'Ben' })}` };
    const me = await get('/whoami', ben);
    expect(me.body).toMatchObject({ kind: 'person', id: 'ben', name: 'Ben', spaces: { [space]: 'admin' } });

    expect((await get('/decide', ben)).status).toBe(200);
    await set('ada', 'ben', 'member');
    expect((await get('/decide', ben)).body.code).toBe('auth.role-missing');
    await remove('ada', 'ben');
    for (let again = 0; again < 20; again++) expect((await get('/decide', ben)).status).toBe(404);

    // Services prove themselves either way; a person in the identity file is nobody where there is an issuer.
    const staging = { 'x-service-key': fixture.tokens.staging };
    expect((await get('/whoami', staging)).body).toMatchObject({ kind: 'service', id: 'staging' });
    expect((await get('/whoami', { ...staging, ...ben })).status).toBe(401);
    expect((await get('/whoami', { 'x-service-key': fixture.tokens.member })).status).toBe(401);
    expect((await get('/whoami', { authorization: `Bearer ${fixture.tokens.member}` })).body.code).toBe(
      'auth.token-unknown',
    );
    expect((await ask('mia', 'GET', '/internal/members/ada/spaces')).status).toBe(403);

    await service.close();
    const mia = { authorization: `Bearer ${await issuer.token('mia')}` };
    expect(await get('/decide', mia)).toMatchObject({ status: 503, body: { code: 'auth.memberships-unavailable' } });
    expect((await get('/whoami', staging)).status).toBe(200);
    await app.close();
  });
});
