import { lstat } from 'node:fs/promises';
import { didNotHappen, done, mayNotBegin, type ToolContext, type ToolOutcome, unknown } from '../tool.js';
import { type Folder, inFolder } from './folder.js';
import { namesOf } from './path.js';
import { Refused, refusal } from './refused.js';

/** Carries out one system call that changes something. */
export type Effect = (act: () => Promise<void>) => Promise<void>;

/**
 * Reaches the folder of `path` and lets `act` change something there. From the first effect on, what ends early is
 * `unknown`, unless the kernel said why it did not do the first one; before that nothing has happened.
 */
export async function change(
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
        const before = begun;
        begun = true;
        await effect().catch((error: NodeJS.ErrnoException) => {
          begun = before || error.code === 'EIO';
          throw error;
        });
      });
      await folder.sync();
      return done(told);
    });
  } catch (error) {
    return begun
      ? unknown('The workspace failed while the change was being made; look there to see which state it is in.')
      : didNotHappen(refusal(error));
  }
}

/** What is at `name`: a plain file, or undefined for nothing. */
export async function plainFile(folder: Folder, name: string): Promise<{ mode: number; size: number } | undefined> {
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
export async function begin(folder: Folder, ctx: ToolContext): Promise<void> {
  const withheld = await mayNotBegin(ctx);
  if (withheld) throw new Refused(withheld);
  await folder.unmoved();
}
