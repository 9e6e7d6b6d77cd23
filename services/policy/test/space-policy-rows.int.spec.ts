import { openDatabase } from '@holdpoint/runtime';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Kysely, sql } from 'kysely';
import { asOperator, asUser } from '../src/store/as-user.js';
import type { PolicyDatabase } from '../src/store/schema.js';
import { openSpaces, type SpacesFixture } from './spaces-fixture.js';

let f: SpacesFixture;
let db: Kysely<PolicyDatabase>;
let reader: Kysely<PolicyDatabase>;
let owner: Kysely<PolicyDatabase>;
beforeAll(async () => {
  f = await openSpaces({ HOLDPOINT_OPERATORS: 'olga' });
  db = openDatabase<PolicyDatabase>(f.url('policy'), { max: 2 });
  reader = openDatabase<PolicyDatabase>(f.url('policy-reader'), { max: 1 });
  owner = openDatabase<PolicyDatabase>(f.url('owner'), { max: 1 });
  for (const space of ['acme', 'other']) {
    await f.found(space);
    await f.ask('ada', 'PUT', `/api/v1/spaces/${space}/policy`, {
      allowDestructive: ['Mail.expunge'],
      acknowledged: true,
    });
    await f.ask('ada', 'PUT', `/api/v1/spaces/${space}/rules`, { rules: [{ tool: 'Mail', verdict: 'deny' }] });
    await f.ask('ada', 'POST', '/api/v1/halts', { scope: 'space', spaceId: space, reason: 'stop' });
  }
  await f.ask('ada', 'DELETE', '/api/v1/spaces/other/members/ben');
  await f.ask('ada', 'DELETE', '/api/v1/spaces/other/members/mia');
});
afterAll(async () => {
  await Promise.all([db, reader, owner].map((each) => each.destroy()));
  await f.close();
});

const TABLES = ['space_policy_preferences', 'space_policy_audit', 'space_rules', 'space_rules_audit', 'halts', 'tools'];
const AUDITS = ['space_policy_audit', 'space_rules_audit'];
const DENIED = expect.stringMatching(/row-level security|permission denied/);

/** A statement as a person: how many rows it touched, or why not. */
const as = (userId: string, statement: string, operator = false): Promise<number | string> =>
  asUser(db, userId, async (tx) => {
    if (operator) await asOperator(tx);
    return Number((await sql.raw(statement).execute(tx)).numAffectedRows ?? 0);
  }).catch((err: Error) => err.message);
/** As a person who takes the next revision first, as every change has to. */
const changing = (userId: string, statement: string) => as(userId, `SELECT policy.next_revision('acme'); ${statement}`);
const seen = (userId: string, table: string) =>
  asUser(db, userId, async (tx) => {
    const { rows } = await sql.raw<{ space_id: string }>(`SELECT space_id FROM ${table}`).execute(tx);
    return [...new Set(rows.map((r) => r.space_id))].sort();
  });

const prefer = (list: string, by: string, space = 'acme') =>
  `UPDATE space_policy_preferences SET allow_destructive = '${list}', updated_by = '${by}', updated_at = clock_timestamp(),
     revision = (SELECT revision FROM space_revisions WHERE space_id = '${space}') WHERE space_id = '${space}'`;
const auditOf = async () =>
  (
    await sql<{ n: number }>`SELECT count(*)::int AS n FROM policy.space_policy_audit WHERE space_id = 'acme'`.execute(
      f.db,
    )
  ).rows[0]?.n;

test('the service is who it is in production: no owner, no superuser, bound by row-level security', async () => {
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
  const { rows } = await sql<{ relname: string; owner: string; forced: boolean }>`
    SELECT relname::text, relowner::regrole::text AS owner, relrowsecurity AND relforcerowsecurity AS forced FROM pg_class
    WHERE relnamespace = 'policy'::regnamespace AND relkind = 'r'`.execute(db);
  for (const table of TABLES)
    expect(rows.find((r) => r.relname === table)).toEqual({ relname: table, owner: 'hp_owner', forced: true });
});

describe('row-level security', () => {
  test('member read: members see the rows of their spaces', async () => {
    for (const table of TABLES) {
      expect(await seen('ada', table)).toEqual(['acme', 'other']);
      for (const member of ['ben', 'mia']) expect(await seen(member, table)).toEqual(['acme']);
    }
  });

  test('non-member blocked: a stranger sees and changes nothing, nobody sees nothing but the registry', async () => {
    for (const table of TABLES) {
      expect(await seen('otto', table)).toEqual([]);
      expect(await seen('', table)).toEqual(table === 'tools' ? ['acme', 'other'] : []);
    }
    expect(await as('otto', prefer('{}', 'otto'))).toBe(0);
    expect(await changing('otto', prefer('{}', 'otto'))).toMatch(/not for you to change/);
    expect(await changing('mia', 'SELECT 1')).toMatch(/not for you to change/);
    expect(await as('ben', prefer('{}', 'ben', 'other'))).toBe(0);
    expect(await as('ben', `SELECT policy.next_revision('other')`)).toMatch(/not for you to change/);
    expect(await as('ada', `SELECT policy.next_revision('_all')`)).toMatch(/not for you to change/);
  });

  test('admin write: owner and admin change, a member does not, and nobody in the name of another', async () => {
    for (const who of ['ada', 'ben']) {
      const before = (await auditOf()) as number;
      expect(await changing(who, prefer(`{Mail.expunge,X.${who}}`, who))).toBe(0);
      expect(await auditOf()).toBeGreaterThan(before);
    }
    expect(await as('mia', prefer('{}', 'mia'))).toBe(0);
    expect(await changing('ben', prefer('{}', 'ada'))).toEqual(DENIED);
    for (const table of ['space_policy_preferences', 'space_rules']) {
      expect(await as('ada', `DELETE FROM ${table}`)).toEqual(DENIED);
      expect(await as('ada', `TRUNCATE ${table}`)).toEqual(DENIED);
      expect(await as('ada', `UPDATE ${table} SET space_id = 'other'`)).toEqual(DENIED);
    }
  });

  test('a change without its revision, or back in time, is none', async () => {
    expect(await as('ada', prefer('{Mail.expunge}', 'ada').replace('clock_timestamp()', `'2000-01-01'`))).toMatch(
      /no earlier time/,
    );
    expect(await as('ada', prefer('{}', 'ada').replace(/\(SELECT.*?'acme'\)/, '99'))).toMatch(/next revision/);
    expect(await as('ada', `UPDATE space_revisions SET revision = 99`)).toEqual(DENIED);
  });

  test('what no request lets through, the tables do not either', async () => {
    for (const list of ['{Mail.*}', '{a.b.c}', '{X,X}', '{NULL}', `{${Array.from({ length: 51 }, (_, i) => `T${i}`)}}`])
      expect(await changing('ada', prefer(list, 'ada'))).toMatch(/sound_actions|check constraint/);
    const rules = (json: string) =>
      changing(
        'ada',
        `UPDATE space_rules SET rules = '${json}', updated_by = 'ada', revision = (SELECT revision FROM space_revisions WHERE space_id = 'acme') WHERE space_id = 'acme'`,
      );
    for (const json of [
      '{}',
      '[1]',
      '[{"tool": "Mail"}]',
      '[{"verdict": "auto", "action": "send"}]',
      '[{"tool": "A", "verdict": "auto"}, {"tool": "A", "verdict": "deny", "agent": null}]',
    ])
      expect(await rules(json)).toMatch(/check constraint/);
    expect(await as('', `UPDATE space_members SET groups = '{Risk}'`)).toBe(0);
    expect(await as('ada', `UPDATE space_members SET groups = '{Risk}', changed_by = 'ada'`)).toMatch(
      /check constraint/,
    );
    expect(
      await as(
        'ada',
        `INSERT INTO tools SELECT 'acme', 'x', tool, origin, description, affected_data, schema_digest, agents, actions, withdrawn, announced_at, 1 FROM tools WHERE tool = 'Mail' AND space_id = 'acme'`,
      ),
    ).toEqual(DENIED);
    expect(await as('ada', `UPDATE tools SET withdrawn = true`)).toBe(0);
  });
});

describe('the audit', () => {
  const insert = (table: string) =>
    `INSERT INTO ${table} SELECT gen_random_uuid(), space_id, 'mia', action, ${table === 'space_rules_audit' ? 'rule' : 'tool_name'}, at, revision FROM ${table}`;

  test('direct audit insert blocked, for everybody who can log in', async () => {
    for (const table of AUDITS) {
      for (const who of ['ada', 'ben', 'mia', 'otto', '']) expect(await as(who, insert(table))).toEqual(DENIED);
      await expect(sql.raw(insert(table)).execute(reader)).rejects.toThrow(/permission denied|read-only/);
    }
  });

  test('audit never updated nor deleted, not even by the owner of the table or a superuser', async () => {
    for (const table of AUDITS)
      for (const statement of [`UPDATE ${table} SET actor_id = 'mia'`, `DELETE FROM ${table}`, `TRUNCATE ${table}`]) {
        expect(await as('ada', statement)).toEqual(DENIED);
        const named = statement.replace(table, `policy.${table}`);
        for (const connection of [owner, f.db])
          await expect(sql.raw(named).execute(connection)).rejects.toThrow(/append-only/);
        // Not in a session of replication, in which ordinary triggers sleep, either.
        await expect(
          f.db.transaction().execute(async (tx) => {
            await sql`SET LOCAL session_replication_role = replica`.execute(tx);
            await sql.raw(named).execute(tx);
          }),
        ).rejects.toThrow(/append-only/);
      }
  });

  test('a space does not go while it has an audit', async () => {
    await expect(sql`DELETE FROM policy.spaces WHERE space_id = 'acme'`.execute(f.db)).rejects.toThrow(/foreign key/);
  });
});

describe('halts', () => {
  const halt = (by: string, space: string | null, scope = space === null ? 'everything' : 'space') =>
    `INSERT INTO halts (halt_id, scope, space_id, reason, set_by, set_at) VALUES ('h-${Math.random().toString(36).slice(2)}', '${scope}', ${space === null ? 'NULL' : `'${space}'`}, 'x', '${by}', now())`;

  test('owner and admin halt and lift in their space, an operator everything, others nothing', async () => {
    for (const who of ['ada', 'ben']) expect(await as(who, halt(who, 'acme'))).toBe(1);
    for (const who of ['mia', 'otto', '']) expect(await as(who, halt(who, 'acme'))).toEqual(DENIED);
    expect(await as('ben', halt('ada', 'acme'))).toEqual(DENIED);
    expect(await as('ben', halt('ben', 'other'))).toEqual(DENIED);
    expect(await as('ada', halt('ada', null))).toEqual(DENIED);
    expect(await as('olga', halt('olga', null), true)).toBe(1);
    expect(await as('', halt('olga', null), true)).toEqual(DENIED);
    const lift = (by: string, where: string) =>
      `UPDATE halts SET lifted_by = '${by}', lifted_at = now() WHERE ${where}`;
    expect(await as('mia', lift('mia', `space_id = 'acme'`))).toBe(0);
    expect(await as('ada', lift('ada', `scope = 'everything'`))).toBe(0);
    expect(await as('ben', lift('ada', `space_id = 'acme'`))).toEqual(DENIED);
    expect(await as('ben', lift('ben', `space_id = 'acme'`))).toBeGreaterThanOrEqual(3);
    expect(await as('ben', lift('ben', `space_id = 'acme'`))).toMatch(/lifted once/);
    expect(await as('ada', `UPDATE halts SET reason = 'y'`)).toEqual(DENIED);
    expect(await as('ada', 'DELETE FROM halts')).toEqual(DENIED);
  });
});

test('the reader sees every space and changes none', async () => {
  for (const table of TABLES) {
    const { rows } = await sql
      .raw<{ space_id: string }>(`SELECT space_id FROM ${table} WHERE space_id IS NOT NULL`)
      .execute(reader);
    expect([...new Set(rows.map((r) => r.space_id))].sort()).toEqual(['acme', 'other']);
    for (const statement of [
      `DELETE FROM ${table}`,
      `UPDATE ${table} SET space_id = 'x'`,
      `INSERT INTO ${table} SELECT * FROM ${table}`,
    ])
      await expect(
        reader.transaction().execute(async (tx) => {
          await sql`SET TRANSACTION READ WRITE`.execute(tx);
          await sql.raw(statement).execute(tx);
        }),
      ).rejects.toThrow(/permission denied/);
  }
});
