import { projectionTables, USUAL_REQUIREMENT } from '@holdpoint/contracts';
import { lostAndRebuilt, rebuild, recoveryOf, untilQuiet } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { projection } from '../src/domain/projection.js';
import { DESTRUCTIVE, openSpaces, type SpacesFixture } from './spaces-fixture.js';

const CALLS = process.env['HOLDPOINT_DEEP'] ? 2_000 : 12;

let fixture: SpacesFixture;
beforeAll(async () => {
  fixture = await openSpaces({ HOLDPOINT_OPERATORS: 'ada' });
});
afterAll(() => fixture.close());

test('spaces, members, what they decide with its audit, tools and verdicts are built anew from the stream, row by row', async () => {
  const { ask } = fixture;
  const ok = async (...asking: Parameters<typeof ask>) => {
    const { status, body } = await ask(...asking);
    if (status >= 300) throw new Error(`${asking[1]} ${asking[2]}: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  const put = (path: string, body: object) => ok('ben', 'PUT', `/api/v1/spaces/acme/${path}`, body);
  await fixture.found('acme');
  await put('policy', { allowDestructive: DESTRUCTIVE.slice(0, 2), acknowledged: true });
  await put('policy', { allowDestructive: DESTRUCTIVE.slice(1), acknowledged: true });
  const rule = (tool: string, verdict: string, more = {}) => ({ tool, verdict, ...more });
  const requirement = { ...USUAL_REQUIREMENT, votes: 2 };
  const twoOfUs = rule('FileRW', 'approve', { requirement, reason: 'two of us' });
  await put('rules', { rules: [rule('Mail', 'deny'), twoOfUs] });
  await put('rules', { rules: [twoOfUs, rule('Mail', 'approve')] });
  await put('members/zoe', { role: 'member', groups: ['risk', 'ops'] });
  await put('members/mia', { role: 'admin' });
  await ok('ben', 'DELETE', '/api/v1/spaces/acme/members/zoe');
  const halt = await ok('ben', 'POST', '/api/v1/halts', {
    scope: 'agent',
    spaceId: 'acme',
    agent: 'cleaner',
    reason: 'odd',
  });
  await ok('ben', 'POST', `/api/v1/halts/${halt.id}/lift`);
  await ok('ada', 'POST', '/api/v1/halts', { scope: 'space', spaceId: 'acme', reason: 'stop' });
  await fixture.announce('acme', 'mail', { withdrawn: true });
  const proposing = [
    {},
    { tool: 'FileRW', action: 'read', hint: 'read' },
    { tool: 'FileRW', action: 'read', hint: 'destructive' },
  ] as const;
  for (let i = 0; i < CALLS; i++) await fixture.propose(proposing[i % 3]);
  await untilQuiet(fixture.database, fixture.server, 'policy');
  await fixture.stop();

  const { before, looked, rebuilt, after, lines } = await lostAndRebuilt(fixture.database, fixture.server, 'policy');
  expect(looked.named).toEqual([]);
  expect(Object.keys(before)).toEqual(projectionTables(projection));
  for (const [table, rows] of Object.entries(before))
    expect({ table, empty: rows.length === 0 }).toEqual({ table, empty: false });
  // What policy believed, not what a call said of itself.
  expect(new Set(before['judged_calls']?.map((r) => (r as { hint: string }).hint)).size).toBeGreaterThan(1);
  expect(after).toEqual(before);
  expect(rebuilt.unanswered).toEqual(new Map());
  if (process.env['HOLDPOINT_DEEP']) console.log(lines.join('\n'));
});

test('a forged member and a forged verdict are named and put right; row security and append-only hold as before', async () => {
  await sql`INSERT INTO policy.space_members VALUES ('acme', 'eve', 'Eve', 'owner', 'eve', now())`.execute(fixture.db);
  await sql`UPDATE policy.decisions SET verdict = 'auto' WHERE call_id = (SELECT min(call_id) FROM policy.decisions)`.execute(
    fixture.db,
  );
  const { named } = await rebuild(recoveryOf(fixture.database, fixture.server), 'policy');
  expect(named.map(({ table, kind, columns }) => [table, kind, columns])).toEqual([
    ['space_members', 'extra', []],
    ['decisions', 'differs', ['verdict']],
  ]);
  await expect(sql`DELETE FROM policy.space_rules_audit`.execute(fixture.db)).rejects.toThrow(/append-only/);
  const { rows } =
    await sql`SELECT relname FROM pg_class WHERE relnamespace = 'policy'::regnamespace AND relforcerowsecurity`.execute(
      fixture.db,
    );
  expect(rows.length).toBe(9);
});
