import { createHash, randomBytes } from 'node:crypto';
import { FROZEN_NONCE_BYTES, MAX_CONTENT_BYTES, type Sealed, type SealedField } from '@holdpoint/contracts';
import { Keyring } from '@holdpoint/runtime';

export interface CallPlace {
  spaceId: string;
  conversationId: string;
  callId: string;
}

/** Seals and opens what belongs to one call, under the key of its conversation. */
export class CallContent {
  constructor(private readonly keyring: Keyring) {}

  /** Nonce and argument bytes in one box: the salt of the digest is as secret as what it salts. */
  async freeze(place: CallPlace, input: string): Promise<{ nonce: Buffer; bytes: Buffer; box: Sealed }> {
    const nonce = randomBytes(FROZEN_NONCE_BYTES);
    const bytes = Buffer.from(input, 'utf8');
    return { nonce, bytes, box: await this.#seal(place, 'frozen', Buffer.concat([nonce, bytes])) };
  }

  async thaw(place: CallPlace, box: Sealed): Promise<{ nonce: Buffer; bytes: Buffer }> {
    const { spaceId, callId: entityId } = place;
    const plain = Buffer.from(await this.keyring.open(box, { spaceId, entityId, field: 'frozen' }));
    return { nonce: plain.subarray(0, FROZEN_NONCE_BYTES), bytes: plain.subarray(FROZEN_NONCE_BYTES) };
  }

  /** Cuts at 256 KiB, never inside a character; the digest of the whole is salted with `salt`. */
  async seal(place: CallPlace, field: SealedField, text: string, salt: Uint8Array) {
    const whole = Buffer.from(text, 'utf8');
    if (whole.length <= MAX_CONTENT_BYTES) return { box: await this.#seal(place, field, whole) };
    let end = MAX_CONTENT_BYTES;
    while (((whole[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    const digest = createHash('sha256').update(salt).update(whole).digest('hex');
    return {
      box: await this.#seal(place, field, whole.subarray(0, end)),
      truncated: { bytes: whole.length, digest },
    };
  }

  async open(place: CallPlace, field: SealedField, box: Sealed | null): Promise<string | null> {
    if (box === null) return null;
    const { spaceId, callId: entityId } = place;
    return Buffer.from(await this.keyring.open(box, { spaceId, entityId, field })).toString('utf8');
  }

  #seal(place: CallPlace, field: SealedField, bytes: Uint8Array): Promise<Sealed> {
    const { spaceId, conversationId, callId: entityId } = place;
    return this.keyring.seal({ spaceId, conversationId, entityId, field }, bytes);
  }
}
