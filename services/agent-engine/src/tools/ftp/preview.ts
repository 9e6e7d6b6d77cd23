import type { CallPreview } from '@holdpoint/contracts';
import { fileState, PREVIEW_BYTES } from '../file-state.js';
import { below } from './path.js';
import { beginning } from './read.js';
import { answered } from './refused.js';
import { entriesOf, withSession } from './session.js';
import type { FtpServer } from './settings.js';

/** The file as it is now, and as it would be: `after` is what is uploaded, or null where the file is deleted. */
export async function previewFile(
  server: FtpServer,
  path: string,
  after: Buffer | null,
  signal: AbortSignal,
): Promise<CallPreview> {
  const { folder, name, whole } = below(server.base, path);
  const then = after && fileState(after, after.length);
  return withSession(server, signal, async (client) => {
    const entries = await entriesOf(client, folder).catch((error: unknown) => {
      if (answered(error)) return null;
      throw error;
    });
    const file = { kind: 'file' as const, path, after: then };
    if (entries === null)
      return { ...file, before: null, note: 'The folder is not there, or may not be listed; this would be refused.' };
    const entry = entries.find((e) => e.name === name);
    if (!entry) return after ? { ...file, before: null } : { ...file, before: null, note: 'There is no such file.' };
    if (entry.isDirectory) return { ...file, before: null, note: 'At this path is a folder; this would be refused.' };
    const { bytes, more } = await beginning(client, whole, PREVIEW_BYTES);
    return { ...file, before: fileState(bytes, more ? entry.size : bytes.length) };
  });
}
