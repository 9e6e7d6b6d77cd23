import { open, rename } from 'node:fs/promises';

/** Written whole and renamed into place: a reader never sees half of it. Readable by the owner alone. */
export async function writePrivately(path: string, content: string): Promise<void> {
  const half = `${path}.${process.pid}`;
  const file = await open(half, 'w', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(half, path);
}
