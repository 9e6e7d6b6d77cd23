import { z } from 'zod';

/** Plaintext that one box may hold, in bytes (charter, section 3). A longer result is cut and marked. */
export const MAX_CONTENT_BYTES = 256 * 1024;

/** Bytes of the salt that stands before the argument bytes inside a `frozen` box. */
export const FROZEN_NONCE_BYTES = 32;

/**
 * Content at rest and in flight: AES-256-GCM ciphertext under the data key `kid`.
 * `iv` (12 bytes) and `ct` (ciphertext and 16-byte tag) are base64url. The additional data is `sealContext(...)`,
 * so a box that is moved to another entity or field does not open.
 */
export const sealed = z
  .strictObject({
    kid: z.string().min(1).max(64),
    iv: z.base64url().length(16),
    ct: z.base64url(),
  })
  .describe('Content, sealed: opens with a grant on the keyring alone.');
export type Sealed = z.infer<typeof sealed>;

/** What a box belongs to. A copied box keeps the entity it was sealed for: the call of a result, the call of a reason. */
export type SealedField = 'frozen' | 'arguments' | 'result' | 'reason' | 'prompt' | 'turn' | 'note';

export const sealContext = (spaceId: string, entityId: string, field: SealedField): string =>
  `holdpoint/1/${spaceId}/${entityId}/${field}`;

/** The same JSON with `{ "sealed": true }` in place of each box, for whoever is shown metadata alone. */
export function withoutBoxes(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(withoutBoxes);
  if (typeof json !== 'object' || json === null) return json;
  if ('ct' in json) return { sealed: true };
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, withoutBoxes(value)]));
}
