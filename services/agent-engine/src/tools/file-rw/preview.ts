import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { CallPreview } from '@holdpoint/contracts';
import { fileState, PREVIEW_BYTES } from '../file-state.js';
import { plainFile } from './change.js';
import { inFolder } from './folder.js';
import { namesOf } from './path.js';
import { countInside } from './purge.js';
import { Refused, refusal } from './refused.js';

type FilePreview = Extract<CallPreview, { kind: 'file' }>;

/** The file as it is now, and as it would be: `after` is what is written, or null where the file is deleted. */
export async function previewFile(root: string, path: string, after: Buffer | null): Promise<CallPreview> {
  const then = after && fileState(after, after.length);
  const file = (before: FilePreview['before'], note?: string): CallPreview => ({
    ...{ kind: 'file', path, before, after: then },
    ...(note === undefined ? {} : { note }),
  });
  const missing = after ? undefined : 'There is no such file; this would be refused.';
  try {
    const found = await stateOf(root, path);
    return found ? file(found.state, found.note) : file(null, missing);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      return file(null, after ? 'Folders of the path are not there; they would be made.' : missing);
    if (code === undefined && !(error instanceof Refused)) throw error;
    return file(null, `This would be refused: ${refusal(error)}`);
  }
}

type Found = { state: FilePreview['before']; note?: string };

async function stateOf(root: string, path: string): Promise<Found | null> {
  const names = namesOf(path);
  const name = names.pop() as string;
  return inFolder(root, names, { make: false }, async (folder) => {
    if (!(await plainFile(folder, name))) return null;
    const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
    const handle = await open(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw new Refused('The path is no plain file.');
      // the other name may be outside of the root
      if (stats.nlink > 1)
        return {
          state: { bytes: stats.size, text: null, cut: true },
          note: 'The file has a second name (a hard link), so its content is not shown.',
        };
      await folder.unmoved();
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(PREVIEW_BYTES), 0, PREVIEW_BYTES, 0);
      return { state: fileState(buffer.subarray(0, bytesRead), stats.size) };
    } finally {
      await handle.close();
    }
  });
}

/** How much a folder holds that would be deleted with it. */
export async function previewPurge(root: string, path: string, signal: AbortSignal): Promise<CallPreview> {
  const folder = { label: 'folder', value: path };
  try {
    const { files, folders, links } = await countInside(root, path, signal);
    const facts = Object.entries({ files, folders, links }).map(([label, n]) => ({ label, value: String(n) }));
    return { kind: 'facts', facts: [folder, ...facts], note: 'All of it is deleted for good.' };
  } catch (error) {
    if (signal.aborted) throw error;
    return { kind: 'facts', facts: [folder], note: `This would be refused: ${refusal(error)}` };
  }
}
