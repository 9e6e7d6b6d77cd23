import { openDatabase } from '@holdpoint/runtime';
import type { DatabaseRole } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Kysely, sql } from 'kysely';
import { CallMaker, runEvents, World } from './fixture.js';

let world: World;
beforeAll(async () => {
  world = await World.open();
  await world.start();
  await world.publish(new CallMaker(world).executed(), runEvents('run-1').completed);
  await world.logged();
});
const connections = new Map<DatabaseRole, Kysely<unknown>>();
afterAll(async () => {
  await Promise.all([...connections.values()].map((db) => db.destroy()));
  await world.close();
});

/** What a statement that fails has set is gone with it. */
const attempt = async (role: DatabaseRole, statement: string) => {
  const db = connections.get(role) ?? openDatabase<unknown>(world.database.url(role), { max: 1 });
  connections.set(role, db);
  return await sql
    .raw(statement)
    .execute(db)
    .then(
      () => 'done',
      (err: Error) => err.message,
    );
};

/** Two columns of each. */
const columns = {
  event_log: ['stream_seq', 'space_id'],
  audit_log: ['stream_seq', 'space_id'],
  run_receipts: ['stream_seq', 'space_id'],
  tree_tiles: ['index', 'hashes'],
  checkpoints: ['number', 'note'],
  signing_keys: ['number', 'note'],
} as const;
const tables = Object.keys(columns) as (keyof typeof columns)[];
const strangers = ['agent-engine', 'policy', 'policy-reader', 'staging', 'taskboard'] as const;
const changes = (table: keyof typeof columns) => [
  `UPDATE audit.${table} SET ${columns[table][0]} = ${columns[table][0]}`,
  `UPDATE audit.${table} SET ${columns[table][1]} = 'x' WHERE false`,
  `DELETE FROM audit.${table}`,
  `DELETE FROM audit.${table} WHERE false`,
  `TRUNCATE audit.${table} CASCADE`,
];

describe.each(tables)('%s is append-only', (table) => {
  it.each(changes(table))('the service may not: %s', async (statement) => {
    expect(await attempt('audit', statement)).toMatch(/permission denied/);
  });
  it.each(changes(table))('the owner is refused: %s', async (statement) => {
    expect(await attempt('owner', statement)).toMatch(/append-only/);
  });
  it('the owner is refused as a replica too, and so is a superuser who forgets to alter the table', async () => {
    const replica = `SET session_replication_role = replica; DELETE FROM audit.${table}`;
    expect(await attempt('superuser', replica)).toMatch(/append-only/);
    expect(await attempt('superuser', `UPDATE audit.${table} SET ${columns[table][0]} = ${columns[table][0]}`)).toMatch(
      /append-only/,
    );
  });
  it('the service can neither alter, nor own, nor drop it, nor see to its triggers', async () => {
    for (const statement of [
      `ALTER TABLE audit.${table} DISABLE TRIGGER ALL`,
      `DROP TABLE audit.${table}`,
      `DROP TRIGGER refuse_row ON audit.${table}`,
      `CREATE TABLE audit.mine (x int)`,
      'SET session_replication_role = replica',
    ])
      expect(await attempt('audit', statement)).toMatch(/must be owner|permission denied/);
  });
  it.each(strangers)('%s reads and writes nothing', async (role) => {
    for (const statement of [
      `SELECT * FROM audit.${table}`,
      `INSERT INTO audit.${table} DEFAULT VALUES`,
      ...changes(table),
    ])
      expect(await attempt(role, statement)).toMatch(/permission denied|read-only transaction/);
  });
});

it('no table of the schema is left out, and each says what it is', async () => {
  const { rows } = await sql<{ name: string; says: string | null }>`
    SELECT relname AS name, obj_description(oid) AS says FROM pg_class
    WHERE relnamespace = 'audit'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'kysely%'`.execute(world.db);
  expect(rows.map((r) => r.name).toSorted()).toEqual([...tables, 'position'].toSorted());
  for (const { says } of rows) expect(says).toMatch(/^(derived|backed-up): /);
});

it('the position goes forward only, and stays', async () => {
  expect(await attempt('audit', 'UPDATE audit.position SET last_seq = 1')).toMatch(/never goes back/);
  expect(await attempt('owner', 'UPDATE audit.position SET last_seq = 1')).toMatch(/never goes back/);
  expect(await attempt('owner', 'UPDATE audit.position SET first_seq = first_seq + 1')).toMatch(/never goes back/);
  expect(await attempt('audit', 'UPDATE audit.position SET first_seq = 1')).toMatch(/permission denied/);
  expect(await attempt('audit', 'DELETE FROM audit.position')).toMatch(/permission denied/);
  expect(await attempt('owner', 'TRUNCATE audit.position')).toMatch(/append-only/);
});
