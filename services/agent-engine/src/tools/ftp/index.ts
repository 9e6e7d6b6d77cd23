import { z } from 'zod';
import { exactInteger } from '../exact-integer.js';
import { defineAction, didNotHappen, done, type Tool, type ToolOutcome } from '../tool.js';
import { remotePath } from './path.js';
import { previewFile } from './preview.js';
import { downloadFile, listFolder, MAX_DOWNLOAD, MAX_LISTED } from './read.js';
import { refusal } from './refused.js';
import { type FtpConfig, ftpServer } from './settings.js';
import { deleteFile, reconcileUpload, uploadFile } from './upload.js';

export { ftpConfig, ftpContradiction } from './settings.js';

const list = z.strictObject({ action: z.literal('list'), path: remotePath.optional() });
const download = z.strictObject({
  action: z.literal('download'),
  path: remotePath,
  offset: exactInteger({ min: 0, max: Number.MAX_SAFE_INTEGER }).optional(),
});
const remove = z.strictObject({ action: z.literal('delete'), path: remotePath });
const upload = z
  .strictObject({
    action: z.literal('upload'),
    path: remotePath,
    content: z.string(),
    encoding: z.enum(['text', 'base64']).optional(),
  })
  .refine(({ content, encoding }) => encoding !== 'base64' || exactBase64(content), {
    path: ['content'],
    error: 'expected base64 (A-Z a-z 0-9 + /, with padding, without line breaks), as encoding says',
  });

/** Spelled the one way that its bytes are spelled, so that nothing in it is skipped. */
const exactBase64 = (content: string) => Buffer.from(content, 'base64').toString('base64') === content;

const bytesOf = ({ content, encoding = 'text' }: z.infer<typeof upload>) =>
  Buffer.from(content, encoding === 'text' ? 'utf8' : 'base64');

const answer = async (ask: () => Promise<unknown>): Promise<ToolOutcome> => {
  try {
    return done(JSON.stringify(await ask()));
  } catch (error) {
    return didNotHappen(refusal(error));
  }
};

/**
 * Files of one FTP server below one base path, byte for byte. What a link on the server leads to cannot be seen from here.
 *
 * `upload` is reconcilable: what it leaves on its way says whether it took effect (see `reconcileUpload`). `delete` is at
 * most once: FTP has no key that a server would recognise a repetition by, a file that is gone tells nothing of who removed
 * it, and done again it would remove what was put there anew.
 *
 * @param config with FTP_URL
 */
export function ftpTool(config: FtpConfig & { FTP_URL: string }): Tool {
  const server = ftpServer(config);
  const { timeoutMs } = server;
  return {
    name: 'FTP',
    description: 'Files of one FTP server. Paths are relative to its base folder, such as reports/may.csv.',
    actions: [
      defineAction({
        name: 'list',
        description: `Lists up to ${MAX_LISTED} entries of a folder; leave path out for the base folder itself.`,
        hint: 'read',
        scope: 'user',
        executionClass: 'idempotent',
        schema: list,
        timeoutMs,
        run: ({ path }, { signal }) => answer(() => listFolder(server, path, signal)),
      }),
      defineAction({
        name: 'download',
        description: `Reads a file from byte offset on (0 unless given): text as it is, anything else as base64, up to ${MAX_DOWNLOAD / 1024} KiB. cut says that there is more; next tells where to go on.`,
        hint: 'read',
        scope: 'user',
        executionClass: 'idempotent',
        schema: download,
        timeoutMs,
        run: ({ path, offset = 0 }, { signal }) => answer(() => downloadFile(server, path, Number(offset), signal)),
      }),
      defineAction({
        name: 'upload',
        description:
          'Puts content in the place of the whole file, in a folder that is there. encoding is text (the default, stored as UTF-8) or base64.',
        hint: 'write',
        scope: 'user',
        executionClass: 'reconcilable',
        schema: upload,
        timeoutMs,
        run: (args, ctx) => uploadFile(server, args.path, bytesOf(args), ctx),
        reconcile: (args, ctx) => reconcileUpload(server, args.path, bytesOf(args), ctx),
        preview: (args, { signal }) => previewFile(server, args.path, bytesOf(args), signal),
      }),
      defineAction({
        name: 'delete',
        description: 'Deletes one file for good; folders are refused.',
        hint: 'write',
        scope: 'user',
        executionClass: 'at-most-once',
        schema: remove,
        timeoutMs,
        run: ({ path }, ctx) => deleteFile(server, path, ctx),
        preview: ({ path }, { signal }) => previewFile(server, path, null, signal),
      }),
    ],
  };
}
