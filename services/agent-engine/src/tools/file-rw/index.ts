import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { exactInteger } from '../exact-integer.js';
import { defineAction, didNotHappen, done, type Tool, type ToolOutcome } from '../tool.js';
import { relativePath } from './path.js';
import { previewFile, previewPurge } from './preview.js';
import { MAX_PURGED, purgeFolder } from './purge.js';
import { listFolder, MAX_LISTED, MAX_READ, readFile } from './read.js';
import { refusal } from './refused.js';
import { deleteFile, reconcileWrite, writeFile } from './write.js';

export const fileRwConfig = {
  /** How long an action may take; a write that takes longer has an unknown end. */
  FILERW_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(100)
    .max(600_000)
    .default(30_000)
    .describe('a number of milliseconds from 100 to 600000'),
  FILERW_ROOT: z.string().refine(isAbsolute, 'must be an absolute path of a folder'),
};
export type FileRwConfig = z.infer<z.ZodObject<typeof fileRwConfig>>;

const read = z.strictObject({
  action: z.literal('read'),
  path: relativePath,
  offset: exactInteger({ min: 0, max: 2n ** 63n - 1n }).optional(),
  // a character takes up to 4 bytes
  length: exactInteger({ min: 4, max: MAX_READ }).optional(),
});
const list = z.strictObject({ action: z.literal('list'), path: relativePath.optional() });
const write = z.strictObject({ action: z.literal('write'), path: relativePath, content: z.string() });
const remove = z.strictObject({ action: z.literal('delete'), path: relativePath });
const purge = z.strictObject({ action: z.literal('purge_folder'), path: relativePath });

const answer = async (ask: () => Promise<unknown>): Promise<ToolOutcome> => {
  try {
    return done(JSON.stringify(await ask()));
  } catch (error) {
    return didNotHappen(refusal(error));
  }
};

/**
 * Text files inside one root. Nothing outside of it is read, listed, changed or removed, whatever links, `..` or renames
 * there are (see `Folder`); a file with a second name is not read, since that name may be elsewhere.
 *
 * `write` is reconcilable: what it leaves on its way says whether it took effect (see `reconcileWrite`). It is not
 * idempotent among others who write: done again after a crash, it would undo a change made in between. `delete` and
 * `purge_folder` are at most once: done again, they would remove what was made anew.
 */
export function fileRwTool(config: FileRwConfig): Tool {
  const root = config.FILERW_ROOT;
  return {
    name: 'FileRW',
    description: 'Text files of one workspace folder. Paths are relative to it, such as notes/today.md.',
    actions: [
      defineAction({
        name: 'read',
        description: `Reads UTF-8 text of a file: length bytes (at most ${MAX_READ}) from byte offset on; next tells where to go on.`,
        hint: 'read',
        scope: 'user',
        executionClass: 'idempotent',
        schema: read,
        timeoutMs: config.FILERW_TIMEOUT_MS,
        run: ({ path, offset = 0, length = MAX_READ }) => answer(() => readFile(root, path, offset, Number(length))),
      }),
      defineAction({
        name: 'list',
        description: `Lists up to ${MAX_LISTED} entries of a folder; leave path out for the workspace itself.`,
        hint: 'read',
        scope: 'user',
        executionClass: 'idempotent',
        schema: list,
        timeoutMs: config.FILERW_TIMEOUT_MS,
        run: ({ path }) => answer(() => listFolder(root, path)),
      }),
      defineAction({
        name: 'write',
        description: 'Writes content as the whole file, replacing what is there; missing folders are made.',
        hint: 'write',
        scope: 'user',
        executionClass: 'reconcilable',
        schema: write,
        timeoutMs: config.FILERW_TIMEOUT_MS,
        run: ({ path, content }, ctx) => writeFile(root, path, content, ctx),
        reconcile: ({ path, content }, ctx) => reconcileWrite(root, path, content, ctx),
        preview: ({ path, content }) => previewFile(root, path, Buffer.from(content, 'utf8')),
      }),
      defineAction({
        name: 'delete',
        description: 'Deletes one file for good; folders are refused.',
        hint: 'write',
        scope: 'user',
        executionClass: 'at-most-once',
        schema: remove,
        timeoutMs: config.FILERW_TIMEOUT_MS,
        run: ({ path }, ctx) => deleteFile(root, path, ctx),
        preview: ({ path }) => previewFile(root, path, null),
      }),
      defineAction({
        name: 'purge_folder',
        description: `Deletes a folder with everything in it for good, up to ${MAX_PURGED} entries; the workspace itself is refused.`,
        hint: 'destructive',
        scope: 'user',
        affectedData: "Files and folders in the agent's workspace",
        executionClass: 'at-most-once',
        schema: purge,
        timeoutMs: config.FILERW_TIMEOUT_MS,
        run: ({ path }, ctx) => purgeFolder(root, path, ctx),
        preview: ({ path }, { signal }) => previewPurge(root, path, signal),
      }),
    ],
  };
}
