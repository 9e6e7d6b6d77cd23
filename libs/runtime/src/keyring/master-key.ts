import { createSecretKey, type KeyObject } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { openBox, sealBox } from './aes.js';

/** The key that wraps data keys. It leaves this class only as ciphertext. */
export class MasterKey {
  readonly #key: KeyObject;

  /** @param bytes 32 random bytes; the caller should overwrite them afterwards. */
  constructor(bytes: Uint8Array) {
    if (bytes.length !== 32) throw new Error('a master key is 32 bytes');
    this.#key = createSecretKey(bytes);
  }

  /**
   * Reads 32 bytes in base64 from a file that nobody but its owner may touch, or that root holds for our group alone.
   * @throws Error that names the file
   */
  static fromFile(path: string): MasterKey {
    const fd = openSync(path, 'r');
    try {
      // Judged on the open file, so that it cannot be swapped in between.
      if (!isPrivate(fstatSync(fd)))
        throw new Error(
          `the master key file ${path} is open to others: chmod 600 it, and replace the key if they could read it`,
        );
      const text = readFileSync(fd, 'utf8').trim();
      const bytes = Buffer.from(text, 'base64');
      if (bytes.length !== 32 || bytes.toString('base64') !== text)
        throw new Error(`the master key file ${path} must hold 32 bytes in base64`);
      return new MasterKey(bytes);
    } finally {
      closeSync(fd);
    }
  }

  /** Async so that a key that lives in a KMS can stand in this place. */
  async wrap(dataKey: Uint8Array, context: string): Promise<Uint8Array> {
    const { iv, ct } = sealBox(this.#key, dataKey, context);
    return Buffer.concat([iv, ct]);
  }

  /** @throws when the bytes were not wrapped by this key for this context. */
  async unwrap(wrapped: Uint8Array, context: string): Promise<Uint8Array> {
    return openBox(this.#key, wrapped.subarray(0, 12), wrapped.subarray(12), context);
  }
}

/**
 * Nobody but the owner may touch it. Or root holds it, and lets one group of ours read it: so Kubernetes hands a Secret to a
 * process that is not root and may own nothing.
 */
export function isPrivate(
  { mode, uid, gid }: { mode: number; uid: number; gid: number },
  us: { uid: number; groups: readonly number[] } = {
    uid: process.getuid?.() ?? 0,
    groups: process.getgroups?.() ?? [],
  },
): boolean {
  if ((mode & 0o077) === 0) return true;
  return (mode & 0o037) === 0 && uid === 0 && us.uid !== 0 && gid !== 0 && us.groups.includes(gid);
}
