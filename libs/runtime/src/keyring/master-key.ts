import { createSecretKey, type KeyObject } from 'node:crypto';
import { openBox, sealBox } from './aes.js';
import { readPrivateFile } from './private-file.js';

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
    const text = readPrivateFile(path, 'the master key file').trim();
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length !== 32 || bytes.toString('base64') !== text)
      throw new Error(`the master key file ${path} must hold 32 bytes in base64`);
    return new MasterKey(bytes);
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
