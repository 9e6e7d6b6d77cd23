import { constants } from 'node:fs';
import { lstat, open, opendir } from 'node:fs/promises';
import { type Folder, inFolder } from './folder.js';
import { namesOf } from './path.js';
import { Refused } from './refused.js';

export const MAX_READ = 128 * 1024;
export const MAX_LISTED = 1_000;

/** Text of a file from byte `offset`; `next` is where to go on, or null at the end. A character is never cut in two. */
export async function readFile(
  root: string,
  path: string,
  offset: number | bigint,
  length: number,
): Promise<{ size: number; text: string; next: number | null }> {
  const names = namesOf(path);
  const name = names.pop() as string;
  return inFolder(root, names, { make: false }, async (folder) => {
    // without O_NONBLOCK a pipe would wait for a writer for ever
    const file = await open(folder.at(name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new Refused('The path is no plain file.');
      // the other name may be outside of the root
      if (stats.nlink > 1) throw new Refused('The file has a second name (a hard link), so it is not read.');
      await folder.unmoved();
      if (offset > stats.size) throw new Refused(`The file ends at byte ${stats.size}, before offset ${offset}.`);
      const buffer = Buffer.alloc(length);
      const { bytesRead } = await file.read(buffer, 0, length, offset);
      const atEnd = bytesRead < length || Number(offset) + bytesRead >= stats.size;
      const text = decode(buffer.subarray(0, bytesRead), atEnd);
      return { size: stats.size, text, next: atEnd ? null : Number(offset) + Buffer.byteLength(text) };
    } finally {
      await file.close();
    }
  });
}

function decode(bytes: Uint8Array, atEnd: boolean): string {
  try {
    // a character that the window cuts in two stays behind in the decoder, and is read with the next window
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: !atEnd });
  } catch {
    throw new Refused(
      'That part of the file is not UTF-8 text, or offset is inside of a character. Go on from next, or from 0.',
    );
  }
}

export interface Entry {
  name: string;
  type: 'file' | 'folder' | 'link' | 'other';
  bytes: number | null;
}

/** Entries of a folder by name, at most `MAX_LISTED`; `more` when there are others. */
export async function listFolder(root: string, path: string | undefined): Promise<{ entries: Entry[]; more: boolean }> {
  return inFolder(root, path === undefined ? [] : namesOf(path), { make: false }, async (folder) => {
    await folder.unmoved();
    const names: string[] = [];
    for await (const { name } of await opendir(folder.at('.'))) {
      names.push(name);
      if (names.length > MAX_LISTED) break;
    }
    const more = names.length > MAX_LISTED;
    const entries = await Promise.all(
      names
        .slice(0, MAX_LISTED)
        .sort()
        .map((name) => entryOf(folder, name)),
    );
    return { entries: entries.filter((e) => e !== null), more };
  });
}

async function entryOf(folder: Folder, name: string): Promise<Entry | null> {
  const stats = await lstat(folder.at(name)).catch(() => null);
  if (!stats) return null;
  if (stats.isFile()) return { name, type: 'file', bytes: stats.size };
  return { name, type: stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'other', bytes: null };
}
