import { constants } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { didNotHappen, done, type ToolContext, type ToolOutcome, unknown } from '../tool.js';
import { begin, change, plainFile } from './change.js';
import { inFolder } from './folder.js';
import { namesOf } from './path.js';
import { Refused } from './refused.js';

/**
 * Puts `content` in the place of the whole file, at once: it is written beside it, made durable and renamed. Whoever
 * reads sees the old file or the new one. Missing folders are made first, and stay if the rest is refused. A crash
 * can leave `.holdpoint-<call id>.<attempt>.tmp` behind, which is how `reconcileWrite` knows.
 */
export async function writeFile(root: string, path: string, content: string, ctx: ToolContext): Promise<ToolOutcome> {
  const bytes = Buffer.from(content, 'utf8');
  return change(root, path, ctx, { make: true }, async (folder, name, effect) => {
    const old = await plainFile(folder, name);
    const temporary = folder.at(temporaryName(ctx.callId, ctx.attempt));
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

/** One for each attempt: an attempt that was frozen must not rename the file of the one after it. */
const temporaryName = (callId: string, attempt: number) => `.holdpoint-${callId}.${attempt}.tmp`;

/**
 * Whether an earlier attempt at the write took effect. Its temporary file is gone once it is renamed: found, it has not
 * been, and removed here, it never will be. Not found, the write is done if the file holds exactly `content`; otherwise it
 * was not begun, or somebody has written since, and nobody can tell which.
 */
export async function reconcileWrite(
  root: string,
  path: string,
  content: string,
  ctx: ToolContext,
): Promise<ToolOutcome> {
  const bytes = Buffer.from(content, 'utf8');
  const names = namesOf(path);
  const name = names.pop() as string;
  try {
    return await inFolder(root, names, { make: false }, async (folder) => {
      await folder.unmoved();
      let cleared = 0;
      for (let attempt = 1; attempt <= ctx.attempt; attempt++)
        cleared += await unlink(folder.at(temporaryName(ctx.callId, attempt))).then(
          () => 1,
          (error: NodeJS.ErrnoException) => {
            if (error.code === 'ENOENT') return 0;
            throw error;
          },
        );
      await folder.sync();
      if (cleared > 0)
        return didNotHappen('The file was not written: an attempt ended before it was put in its place.');
      return (await holds(folder.at(name), bytes))
        ? done(`Wrote ${bytes.length} bytes; the file holds exactly what was to be written.`)
        : unknown('The file does not hold what was to be written: it was not written, or has been changed since.');
    });
  } catch {
    return unknown('The file could not be looked at, so it is not known whether it was written.');
  }
}

async function holds(path: string, bytes: Buffer): Promise<boolean> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stats = await file.stat();
    return stats.isFile() && stats.size === bytes.length && (await file.readFile()).equals(bytes);
  } finally {
    await file.close();
  }
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
