import { FROZEN_NONCE_BYTES, type Sealed } from '@holdpoint/contracts';
import { ContentDestroyed, ContentUnreadable, Keyring, suspectSecret } from '@holdpoint/runtime';
import type { Call } from './domain/call.js';
import { injectionFlags } from './domain/injection.js';

const UNREADABLE: Call['content'] = { readable: false, flags: ['content-unreadable'] };

/** What is seen in arguments as they are written, readable as they are. */
export async function seenIn(text: string): Promise<Call['content']> {
  const secret = (await suspectSecret(text)) ? ['secret-suspected'] : [];
  return { readable: true, flags: [...injectionFlags(text), ...secret] };
}

/** Looks into frozen arguments for flags. What it reads decides nothing but flags; that it cannot read tightens. */
export class ContentInspector {
  /** Without a keyring every content is unreadable. */
  constructor(private readonly keyring: Keyring | null) {}

  get canRead(): boolean {
    return this.keyring !== null;
  }

  /** @throws an infrastructure fault when the keyring's store does not answer: then there is no verdict yet. */
  async inspect(frozen: Sealed, spaceId: string, callId: string): Promise<Call['content']> {
    if (this.keyring === null) return UNREADABLE;
    try {
      const plain = await this.keyring.open(frozen, { spaceId, entityId: callId, field: 'frozen' });
      const text = new TextDecoder('utf-8', { fatal: true }).decode(plain.subarray(FROZEN_NONCE_BYTES));
      return await seenIn(text);
    } catch (err) {
      const undecodable =
        err instanceof TypeError && (err as { code?: string }).code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
      if (err instanceof ContentDestroyed || err instanceof ContentUnreadable || undecodable) return UNREADABLE;
      throw err;
    }
  }
}
