import type { EventData } from '@holdpoint/contracts';
import { type EventPublisher, newEvent } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { DecisionsDatabase } from '../src/store/decisions-database.js';
import { registry } from '../src/store/registry.js';
import { SpacePolicyReader } from '../src/store/space-policy-reader.js';
import { openPolicy, type PolicyFixture } from './fixture.js';

let fixture: PolicyFixture;
let decisions: DecisionsDatabase;
let reader: SpacePolicyReader;
beforeAll(async () => {
  fixture = await openPolicy();
  await fixture.start();
  decisions = new DecisionsDatabase(fixture.url('policy-reader'), 1);
  reader = new SpacePolicyReader(decisions);
});
afterAll(async () => {
  await decisions.onApplicationShutdown();
  await fixture.close();
});

type Announced = EventData<'tool.announced'>;
const purge: Announced['actions'][number] = {
  name: 'purge_folder',
  description: 'Removes a folder for good',
  hint: 'destructive',
  scope: 'user',
  executionClass: 'at-most-once',
};
const announcement = (spaceId: string, more: Partial<Announced> = {}) =>
  newEvent('tool.announced', {
    spaceId,
    entityId: 'filerw',
    data: {
      server: 'builtin',
      tool: 'FileRW',
      origin: 'builtin',
      description: 'Files',
      affectedData: 'Files of the agent',
      schemaDigest: 'b'.repeat(64),
      agents: ['assistant'],
      actions: [purge],
      withdrawn: false,
      ...more,
    },
  });
const announce = (...args: Parameters<typeof announcement>): ReturnType<EventPublisher['publish']> =>
  fixture.publisher.publish(announcement(...args));

test('a space that nothing was ever said of', async () => {
  const { now, ...rows } = await reader.read('nowhere', 'assistant');
  expect(rows).toEqual({ halted: null, allowDestructive: [], rules: [], tools: [], announced: false, revision: 0 });
  expect(Math.abs(now.getTime() - Date.now())).toBeLessThan(60_000);
});

test('the registry holds what was announced last, and what was withdrawn does not come back', async () => {
  await announce('reg');
  const tools = await eventually(async () => {
    const { tools } = await reader.read('reg', 'assistant');
    return tools.length > 0 ? tools : undefined;
  });
  const { description: _, ...facts } = purge;
  expect(tools).toEqual([
    {
      server: 'builtin',
      tool: 'FileRW',
      origin: 'builtin',
      schemaDigest: 'b'.repeat(64),
      agents: ['assistant'],
      actions: [facts],
    },
  ]);
  await announce('reg', { withdrawn: true, agents: [] });
  await eventually(async () => (await reader.read('reg', 'assistant')).tools.length === 0 || undefined);
  const late = announcement('reg');
  await fixture.db.transaction().execute((tx) => registry.put(tx, late, 1));
  expect(await reader.read('reg', 'assistant')).toMatchObject({ tools: [], announced: true });
});

test('opt-ins, rules, halts and revision come with it, the widest halt first', async () => {
  await sql`
    INSERT INTO policy.spaces VALUES ('full', 'Full', 'ada', now());
    INSERT INTO policy.space_revisions VALUES ('full', 7);
    INSERT INTO policy.space_policy_preferences VALUES ('full', ARRAY['FileRW.purge_folder', 'git/repo%2Edrop'], now(), 'ada', 7);
    INSERT INTO policy.space_rules VALUES ('full', '[{"tool": "Mail", "action": null, "server": null, "agent": "assistant", "verdict": "deny"}, {"tool": null, "verdict": "approve"}]', now(), 'ada', 7);
    INSERT INTO policy.halts VALUES ('h1', 'agent', 'full', 'assistant', 'x', 'ada', now());
  `.execute(fixture.db);
  expect(await reader.read('full', 'assistant')).toMatchObject({
    halted: 'agent',
    revision: 7,
    allowDestructive: [
      { server: 'builtin', tool: 'FileRW', action: 'purge_folder' },
      { server: 'git', tool: 'repo.drop', action: null },
    ],
    rules: [
      { origin: 'space', tool: 'Mail', agent: 'assistant', verdict: 'deny' },
      { origin: 'space', verdict: 'approve' },
    ],
  });
  expect((await reader.read('full', 'other')).halted).toBeNull();
  await sql`INSERT INTO policy.halts VALUES ('h2', 'everything', NULL, NULL, 'x', 'ada', now()), ('h3', 'space', 'full', NULL, 'x', 'ada', now())`.execute(
    fixture.db,
  );
  expect((await reader.read('full', 'other')).halted).toBe('everything');
  await sql`UPDATE policy.halts SET lifted_by = 'ada', lifted_at = now() WHERE halt_id = 'h2'`.execute(fixture.db);
  expect((await reader.read('full', 'assistant')).halted).toBe('space');
  expect((await reader.read('elsewhere', 'assistant')).halted).toBeNull();
});

test('its time is not later than its rows, even when it had to wait for them', async () => {
  const { now: first } = await reader.read('waiting', 'assistant');
  const blocked = fixture.db.transaction().execute(async (tx) => {
    await sql`LOCK TABLE policy.halts IN ACCESS EXCLUSIVE MODE`.execute(tx);
    const reading = reader.read('waiting', 'assistant');
    await eventually(async () => {
      const { rows } =
        await sql`SELECT FROM pg_locks WHERE NOT granted AND relation = 'policy.halts'::regclass`.execute(tx);
      return rows.length > 0 || undefined;
    });
    const { rows } = await sql<{ now: Date }>`SELECT clock_timestamp() AS now`.execute(tx);
    return { reading, waited: (rows[0] as { now: Date }).now };
  });
  const { reading, waited } = await blocked;
  const { now } = await reading;
  expect(now >= first && now <= waited).toBe(true);
});
