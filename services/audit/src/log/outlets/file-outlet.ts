import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Outlet, Published } from './outlet.js';

/** A line is below 1 KiB. */
const TAIL_BYTES = 64 * 1024;

/**
 * A file of lines as an export has them, `{"kind":"checkpoint","note":"…"}`, each synced to disk. It is worth something on a
 * volume that whoever can change the database cannot write to.
 */
export class FileOutlet implements Outlet {
  readonly name: string;
  /** A line that a crash cut off is ended, and left to stand. */
  #unfinished = false;

  constructor(private readonly path: string) {
    this.name = path;
  }

  async latest(): Promise<string | null> {
    const text = await this.#tail();
    this.#unfinished = text !== '' && !text.endsWith('\n');
    return (
      text
        .split('\n')
        .map(parsed)
        .findLast((p) => p?.kind === 'checkpoint')?.note ?? null
    );
  }

  async *all(): AsyncGenerator<Published> {
    for await (const line of createInterface({ input: createReadStream(this.path) })) {
      const published = parsed(line);
      if (published) yield published;
    }
  }

  async put(published: Published): Promise<void> {
    const file = await open(this.path, 'a', 0o644);
    try {
      await file.appendFile(`${this.#unfinished ? '\n' : ''}${JSON.stringify(published)}\n`);
      this.#unfinished = false;
      await file.datasync();
    } finally {
      await file.close();
    }
  }

  async #tail(): Promise<string> {
    const file = await open(this.path, 'r').catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOENT') throw err;
      return undefined;
    });
    if (file === undefined) return '';
    try {
      const { size } = await file.stat();
      const length = Math.min(size, TAIL_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  }
}

function parsed(line: string): Published | null {
  try {
    const { kind, note } = JSON.parse(line) as Partial<Published>;
    return (kind === 'checkpoint' || kind === 'key') && typeof note === 'string' ? { kind, note } : null;
  } catch {
    return null;
  }
}
