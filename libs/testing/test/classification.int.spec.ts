import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectionOf, SERVICES, schemaOf, withClient } from '@holdpoint/provision';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type TestDatabase, testDatabase } from '../src/index.js';

// Charter, section 3: every table says what it is, and so where it comes back from.

const ROOT = join(import.meta.dirname, '..', '..', '..');
const WORDS = ['from-stream', 'derived', 'ephemeral', 'backed-up'];
/** The migrator's own; a migration that was applied is known by the schema itself, which provisioning makes. */
const MIGRATOR = new Set(['kysely_migration', 'kysely_migration_lock']);

interface Table {
  schema: string;
  name: string;
  word: string;
  what: string;
}
let database: TestDatabase;
let tables: Table[];
beforeAll(async () => {
  database = await testDatabase();
  tables = await withClient(database.url('superuser'), async (client) => {
    const { rows } = await client.query(
      `SELECT n.nspname AS schema, c.relname AS name, coalesce(obj_description(c.oid), '') AS comment
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1, 2`,
    );
    return rows
      .filter((r) => !MIGRATOR.has(r.name))
      .map(({ comment, ...r }) => ({
        ...r,
        word: comment.split(': ')[0],
        what: comment.split(': ').slice(1).join(': '),
      }));
  });
});
afterAll(() => database.drop());

it('every table of every schema says what it is, in one of four words, and more than that', () => {
  expect(new Set(tables.map((t) => t.schema))).toEqual(new Set([...SERVICES.map(schemaOf), 'keyring']));
  const wrong = tables.filter((t) => !WORDS.includes(t.word) || t.what.length < 10).map((t) => `${t.schema}.${t.name}`);
  expect(wrong).toEqual([]);
});

it('what can be built anew is exactly what the services project', async () => {
  for (const service of SERVICES) {
    const rebuildable = tables.filter(
      (t) => t.schema === schemaOf(service) && ['from-stream', 'derived'].includes(t.word),
    );
    const { tables: own, elsewhere = {} } = await projectionOf(ROOT, service);
    const projected = [...own.map((t) => t.name), ...Object.keys(elsewhere)].sort();
    expect({ service, tables: projected }).toEqual({ service, tables: rebuildable.map((t) => t.name) });
  }
});

it('docs/recovery.md lists each of them, under its word', () => {
  const docs = readFileSync(join(ROOT, 'docs', 'recovery.md'), 'utf8');
  const listed = WORDS.map((word) => {
    const names = tables.filter((t) => t.word === word).map((t) => `\`${t.schema}.${t.name}\``);
    return `| \`${word}\` | ${names.join(', ')} |`;
  });
  const squeezed = docs.replaceAll(/ +\|/g, ' |');
  for (const row of listed) expect(squeezed).toContain(row);
});
