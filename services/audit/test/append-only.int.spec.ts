import { openDatabase } from '@holdpoint/runtime';
import type { DatabaseRole } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { CallMaker, runEvents, World } from './fixture.js';

let world: World;
beforeAll(async () => {
  world = await World.open();
  await world.start();
  await world.publish(new CallMaker(world).executed(), runEvents('run-1').completed);
  await world.logged();
});
afterAll(() => world.close());

const attempt = async (role: DatabaseRole, statement: string) => {
  const db = openDatabase<unknown>(world.database.url(role), { max: 1 });
  try {
    return await sql
      .raw(statement)
      .execute(db)
      .then(
        () => 'done',
        (err: Error) => err.message,
      );
  } finally {
    await db.destroy();
  }
};

const tables = ['event_log', 'audit_log', 'run_receipts'];
const changes = (table: string) => [
  `UPDATE audit.${table} SET stream_seq = stream_seq`,
  `UPDATE audit.${table} SET space_id = 'x' WHERE false`,
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
    expect(await attempt('superuser', `UPDATE audit.${table} SET stream_seq = stream_seq`)).toMatch(/append-only/);
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
  it.each(['agent-engine', 'policy', 'staging', 'taskboard'] as const)('%s reads and writes nothing', async (role) => {
    for (const statement of [`SELECT * FROM audit.${table}`, `INSERT INTO audit.${table} DEFAULT VALUES`])
      expect(await attempt(role, statement)).toMatch(/permission denied/);
  });
});

it('the position goes forward only, and stays', async () => {
  expect(await attempt('audit', 'UPDATE audit.position SET last_seq = 1')).toMatch(/never goes back/);
  expect(await attempt('owner', 'UPDATE audit.position SET last_seq = 1')).toMatch(/never goes back/);
  expect(await attempt('owner', 'UPDATE audit.position SET first_seq = first_seq + 1')).toMatch(/never goes back/);
  expect(await attempt('audit', 'UPDATE audit.position SET first_seq = 1')).toMatch(/permission denied/);
  expect(await attempt('audit', 'DELETE FROM audit.position')).toMatch(/permission denied/);
  expect(await attempt('owner', 'TRUNCATE audit.position')).toMatch(/append-only/);
});
