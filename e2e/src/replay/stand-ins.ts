import { appendFile } from 'node:fs/promises';
import { defineAction, done, type Tool } from '@holdpoint/agent-engine';
import { z } from 'zod';
import type { SuiteTool } from './suite.js';

/** The one action of a stand-in: tools of other people's suites are functions, and have none. */
export const ACTION = 'call';

/**
 * Tools that only note down that they were called. Each is taken for one that writes, at most once: what a suite says of
 * its tools loosens nothing here.
 */
export const standIns = (tools: readonly SuiteTool[], record: string): Tool[] =>
  tools.map(({ name, doc, parameters }) => ({
    name,
    description: doc.trim(),
    actions: [
      defineAction({
        name: ACTION,
        description: 'Does it.',
        hint: 'write',
        scope: 'user',
        executionClass: 'at-most-once',
        schema: z.strictObject({ action: z.literal(ACTION), ...fields(parameters) }),
        timeoutMs: 10_000,
        run: async (_args, { callId }) => {
          await appendFile(record, `${callId}\n`);
          return done('Done.');
        },
      }),
    ],
  }));

const TYPES: Record<string, () => z.ZodType> = {
  string: () => z.string(),
  number: () => z.number(),
  integer: () => z.int(),
  boolean: () => z.boolean(),
  array: () => z.array(z.union([plain(), z.record(z.string(), plain())])),
  null: () => z.null(),
};
const plain = () => z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** A type that is named elsewhere in the suite's source, such as an enumeration, is a string. */
const fields = (parameters: SuiteTool['parameters']): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.entries(parameters).map(([field, { type, required }]) => {
      const types = [type].flat().map((t) => (TYPES[t] ?? z.string)());
      const schema = z.union(types);
      return [field, required ? schema : schema.optional()];
    }),
  );
