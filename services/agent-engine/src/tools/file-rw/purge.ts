import { lstat, opendir, rmdir, unlink } from 'node:fs/promises';
import type { ToolContext, ToolOutcome } from '../tool.js';
import { begin, change, type Effect } from './change.js';
import { type Folder, inFolder } from './folder.js';
import { namesOf } from './path.js';
import { Refused } from './refused.js';

export const MAX_PURGED = 10_000;
/** Each level is an open descriptor. */
const MAX_DEPTH = 64;

/**
 * Deletes a folder with everything in it, for good; links in it are removed and never followed. The root cannot be named.
 * What is there is counted first: beyond `MAX_PURGED` entries nothing is deleted. A folder that is moved while it is
 * emptied is left as it then is, and the outcome is `unknown`, as with every end in the middle.
 */
export async function purgeFolder(root: string, path: string, ctx: ToolContext): Promise<ToolOutcome> {
  return change(root, path, ctx, { make: false }, async (parent, name, effect) => {
    const counted = { entries: 0, files: 0, folders: 0, links: 0 };
    await inside(parent, name, (folder) => count(folder, counted, ctx.signal, 1));
    await begin(parent, ctx);
    const gone = { files: 0, folders: 0, links: 0 };
    await inside(parent, name, (folder) => empty(folder, gone, ctx.signal, effect, 1));
    await parent.unmoved();
    await effect(() => rmdir(parent.at(name)));
    return `Deleted the folder and in it ${gone.files} files, ${gone.folders} folders and ${gone.links} links.`;
  });
}

/** What `purgeFolder` would delete now. @throws Refused where it would refuse */
export async function countInside(root: string, path: string, signal: AbortSignal): Promise<Counted> {
  const names = namesOf(path);
  const name = names.pop() as string;
  return inFolder(root, names, { make: false }, async (parent) => {
    const counted = { entries: 0, files: 0, folders: 0, links: 0 };
    await inside(parent, name, (folder) => count(folder, counted, signal, 1));
    return counted;
  });
}

async function inside(parent: Folder, name: string, use: (folder: Folder) => Promise<void>): Promise<void> {
  const folder = await parent.enter(name, { make: false });
  try {
    await use(folder);
  } finally {
    await folder.close();
  }
}

interface Counted {
  entries: number;
  files: number;
  folders: number;
  links: number;
}

async function count(folder: Folder, counted: Counted, signal: AbortSignal, depth: number): Promise<void> {
  const folders: string[] = [];
  for await (const entry of await opendir(folder.at('.'))) {
    signal.throwIfAborted();
    if (++counted.entries > MAX_PURGED)
      throw new Refused(`The folder holds more than ${MAX_PURGED} entries. Purge folders within it first.`);
    counted[entry.isDirectory() ? 'folders' : entry.isSymbolicLink() ? 'links' : 'files']++;
    if (entry.isDirectory()) folders.push(entry.name);
  }
  if (folders.length > 0 && depth === MAX_DEPTH)
    throw new Refused(`Folders in it lie more than ${MAX_DEPTH} deep. Purge the inner ones first.`);
  for (const name of folders) await inside(folder, name, (next) => count(next, counted, signal, depth + 1));
}

async function empty(
  folder: Folder,
  gone: { files: number; folders: number; links: number },
  signal: AbortSignal,
  effect: Effect,
  depth: number,
): Promise<void> {
  const names: string[] = [];
  for await (const { name } of await opendir(folder.at('.'))) {
    if (names.push(name) > MAX_PURGED) throw new Refused('The folder is being filled meanwhile.');
  }
  for (const name of names) {
    signal.throwIfAborted();
    const stats = await lstat(folder.at(name));
    if (stats.isDirectory()) {
      if (depth === MAX_DEPTH) throw new Refused('Folders are being made in it meanwhile.');
      await inside(folder, name, (next) => empty(next, gone, signal, effect, depth + 1));
    }
    await folder.unmoved();
    // whatever has taken the name since: rmdir removes no link and no file, unlink no folder
    await effect(() => (stats.isDirectory() ? rmdir : unlink)(folder.at(name)));
    gone[stats.isDirectory() ? 'folders' : stats.isSymbolicLink() ? 'links' : 'files']++;
  }
  await folder.sync();
}
