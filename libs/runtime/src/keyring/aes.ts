import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

const TAG_BYTES = 16;
const IV_BYTES = 12;

/** AES-256-GCM under a random iv. `ct` is ciphertext, then the 16-byte tag. */
export function sealBox(key: KeyObject, plain: Uint8Array, context: string): { iv: Buffer; ct: Buffer } {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(context));
  return { iv, ct: Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]) };
}

/** @throws when key, context, iv or a single bit differs from what was sealed. */
export function openBox(key: KeyObject, iv: Uint8Array, ct: Uint8Array, context: string): Buffer {
  if (iv.length !== IV_BYTES || ct.length < TAG_BYTES) throw new Error('not a sealed box');
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(ct.subarray(ct.length - TAG_BYTES));
  return Buffer.concat([decipher.update(ct.subarray(0, ct.length - TAG_BYTES)), decipher.final()]);
}
