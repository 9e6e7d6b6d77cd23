import { z } from 'zod';
import { exactInteger } from '../exact-integer.js';
import { defineAction, didNotHappen, done, type Tool } from '../tool.js';
import { previewRows } from './preview.js';
import { DEFAULT_ROWS, MAX_ROWS, query } from './query.js';
import { refusal } from './refused.js';
import { value } from './value.js';
import { insert, upsert } from './write.js';

const postgresUrl = z.url({ protocol: /^postgres(ql)?$/ });

export const databaseConfig = {
  /** Without it the tool does not exist. */
  DATABASE_TOOL_URL: postgresUrl.optional().describe("a postgres:// URL of a database that is not Holdpoint's own"),
  /** A login that can do nothing but read, for `query`. */
  DATABASE_TOOL_READ_URL: postgresUrl
    .optional()
    .describe("a postgres:// URL of a database that is not Holdpoint's own, beside DATABASE_TOOL_URL"),
  DATABASE_TOOL_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(100)
    .max(120_000)
    .default(10_000)
    .describe('a number of milliseconds from 100 to 120000'),
};
export type DatabaseConfig = z.infer<z.ZodObject<typeof databaseConfig>>;

const identifier = z.string().min(1).max(63);
const place = { schema: identifier.optional(), table: identifier };
const rows = z.array(z.record(identifier, value)).min(1).max(100);

const querySchema = z.strictObject({
  action: z.literal('query'),
  sql: z.string().min(1).max(20_000),
  params: z.array(value).max(100).optional(),
  limit: exactInteger({ min: 1, max: MAX_ROWS }).optional(),
});
const insertSchema = z.strictObject({ action: z.literal('insert'), ...place, rows });
const upsertSchema = z.strictObject({
  action: z.literal('upsert'),
  ...place,
  rows,
  key: z.array(identifier).min(1).max(16),
});

/**
 * Tables of one PostgreSQL database that is not Holdpoint's own.
 *
 * `insert` is keyed: the database itself keeps which calls took effect, in a ledger that the operator makes (README).
 * `upsert` is idempotent. Both say `unknown` when the connection is lost while COMMIT is under way.
 *
 * @param config with DATABASE_TOOL_URL
 */
export function databaseTool(config: DatabaseConfig & { DATABASE_TOOL_URL: string }): Tool {
  const target = { url: config.DATABASE_TOOL_URL, timeoutMs: config.DATABASE_TOOL_TIMEOUT_MS };
  const readUrl = config.DATABASE_TOOL_READ_URL ?? target.url;
  const timeoutMs = target.timeoutMs + 10_000;
  return {
    name: 'Database',
    description:
      'Tables of one PostgreSQL database. Values are strings, integers, booleans and null; write decimals, dates and JSON as strings.',
    actions: [
      defineAction({
        name: 'query',
        description: `Runs one SELECT, read-only. params fill $1, $2, …; at most limit rows (${DEFAULT_ROWS} unless given, up to ${MAX_ROWS}); more says that there are others.`,
        hint: 'read',
        scope: 'user',
        executionClass: 'idempotent',
        schema: querySchema,
        timeoutMs,
        run: async ({ sql, params = [], limit = DEFAULT_ROWS }, { signal }) => {
          try {
            return done(await query(readUrl, target.timeoutMs, { sql, params, limit: Number(limit) }, signal));
          } catch (error) {
            return didNotHappen(refusal(error));
          }
        },
      }),
      defineAction({
        name: 'insert',
        description:
          'Adds up to 100 rows to a table (schema is public unless given), all or none. Each row maps the same columns to values.',
        hint: 'write',
        scope: 'user',
        executionClass: 'keyed',
        schema: insertSchema,
        timeoutMs,
        run: ({ schema = 'public', table, rows }, ctx) => insert(target, { schema, table, rows }, ctx),
        preview: ({ schema = 'public', table, rows }, { signal }) =>
          previewRows(target, { schema, table, rows }, signal),
      }),
      defineAction({
        name: 'upsert',
        description:
          'Adds up to 100 rows, or sets the given columns where a row with the same key is there. key names the columns of a unique constraint.',
        hint: 'write',
        scope: 'user',
        executionClass: 'idempotent',
        schema: upsertSchema,
        timeoutMs,
        run: ({ schema = 'public', table, rows, key }, ctx) => upsert(target, { schema, table, rows, key }, ctx),
        preview: ({ schema = 'public', table, rows, key }, { signal }) =>
          previewRows(target, { schema, table, rows, key }, signal),
      }),
    ],
  };
}
