import { constants } from 'node:fs';
import { lstat, open, rename, unlink } from 'node:fs/promises';
import { didNotHappen, done, mayNotBegin, type ToolContext, type ToolOutcome, unknown } from '../tool.js';
import { type Folder, inFolder } from './folder.js';
import { namesOf } from './path.js';
import { Refused, refusal } from './refused.js';

/**
 * Puts `content` in the place of the whole file, at once: it is written beside it, made durable and renamed. Whoever
 * reads sees the old file or the new one. Missing folders are made first, and stay if the rest is refused. A crash can leave
 * `.holdpoint-<call id>.tmp` behind.
 */
export async function writeFile(root: string, path: string, content: string, ctx: ToolContext): Promise<ToolOutcome> {
  const bytes = Buffer.from(content, 'utf8');
  return change(root, path, ctx, { make: true }, async (folder, name, effect) => {
    const old = await plainFile(folder, name);
    const temporary = folder.at(`.holdpoint-${ctx.callId}.tmp`);
    const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
    const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
    try {
      try {
        await file.writeFile(bytes);
        if (old) await file.chmod(old.mode & 0o777);
        await file.sync();
      } finally {
        await file.close();
      }
      await begin(folder, ctx);
      await effect(() => rename(temporary, folder.at(name)));
    } catch (error) {
      await unlink(temporary).catch(() => {});
      throw error;
    }
    return `Wrote ${bytes.length} bytes; ${old ? 'the file was there before and is replaced' : 'the file is new'}.`;
  });
}

/** Removes one plain file, for good. A folder, a link or anything else is refused. */
export async function deleteFile(root: string, path: string, ctx: ToolContext): Promise<ToolOutcome> {
  return change(root, path, ctx, { make: false }, async (folder, name, effect) => {
    const old = await plainFile(folder, name);
    if (!old) throw new Refused('There is no such file. Use list to see what is there.');
    await begin(folder, ctx);
    await effect(() => unlink(folder.at(name)));
    return `Deleted a file of ${old.size} bytes.`;
  });
}

type Effect = (act: () => Promise<void>) => Promise<void>;

/** `unknown` from the effect on, unless the kernel said why it did not do it; before that nothing has happened. */
async function change(
  root: string,
  path: string,
  ctx: ToolContext,
  options: { make: boolean },
  act: (folder: Folder, name: string, effect: Effect) => Promise<string>,
): Promise<ToolOutcome> {
  const names = namesOf(path);
  const name = names.pop() as string;
  let begun = false;
  const withheld = await mayNotBegin(ctx);
  if (withheld) return didNotHappen(withheld);
  try {
    return await inFolder(root, names, options, async (folder) => {
      const told = await act(folder, name, async (effect) => {
        begun = true;
        await effect().catch((error: NodeJS.ErrnoException) => {
          begun = error.code === 'EIO';
          throw error;
        });
      });
      await folder.sync();
      return done(told);
    });
  } catch (error) {
    return begun
      ? unknown('The workspace failed while the change was being made; look at the file to see which state it is in.')
      : didNotHappen(refusal(error));
  }
}

/** What is at `name`: a plain file, or undefined for nothing. */
async function plainFile(folder: Folder, name: string): Promise<{ mode: number; size: number } | undefined> {
  const stats = await lstat(folder.at(name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (stats?.isDirectory()) throw new Refused('The path is a folder. Name a file in it.');
  if (stats?.isSymbolicLink()) throw new Refused('The path leads to a link; links are not followed.');
  if (stats && !stats.isFile()) throw new Refused('The path is no plain file.');
  return stats;
}

/** The last moment at which nothing has been done; the folder comes last, as a lease may take a while to be looked up. */
async function begin(folder: Folder, ctx: ToolContext): Promise<void> {
  const withheld = await mayNotBegin(ctx);
  if (withheld) throw new Refused(withheld);
  await folder.unmoved();
}
