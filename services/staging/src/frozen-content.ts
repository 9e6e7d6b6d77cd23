import { FROZEN_NONCE_BYTES, type FrozenContext, type Sealed } from '@holdpoint/contracts';
import { ContentUnreadable, frozenDigest, Keyring } from '@holdpoint/runtime';

/** What was frozen does not open, or is not what its digest says. Never to be released; an alarm. */
export class ContentDamaged extends Error {
  override readonly name = 'ContentDamaged';
}

/** Opens frozen arguments and proves that they are the ones that the digest was made over (guarantee G5). */
export class FrozenContent {
  constructor(private readonly keyring: Keyring) {}

  /**
   * The argument JSON exactly as the model wrote it.
   * @throws ContentDamaged
   * @throws ContentDestroyed when the content was erased on purpose
   */
  async argumentsOf(call: FrozenContext & { digest: string }, frozen: Sealed): Promise<string> {
    const place = { spaceId: call.spaceId, entityId: call.callId, field: 'frozen' } as const;
    const plain = await this.keyring.open(frozen, place).catch((err: unknown) => {
      throw err instanceof ContentUnreadable ? new ContentDamaged('the frozen box does not open', { cause: err }) : err;
    });
    const [nonce, bytes] = [plain.subarray(0, FROZEN_NONCE_BYTES), plain.subarray(FROZEN_NONCE_BYTES)];
    if (nonce.length !== FROZEN_NONCE_BYTES || frozenDigest(call, nonce, bytes) !== call.digest)
      throw new ContentDamaged('the frozen bytes are not those of the digest');
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (cause) {
      throw new ContentDamaged('the frozen bytes are not text', { cause });
    }
  }

  /** Under the key of the call's conversation. @throws ContentDestroyed */
  sealReason(at: { spaceId: string; callId: string; kid: string }, text: string): Promise<Sealed> {
    return this.keyring.seal({ kid: at.kid, spaceId: at.spaceId, entityId: at.callId, field: 'reason' }, text);
  }

  /** @throws ContentDestroyed, ContentUnreadable */
  async reasonOf(at: { spaceId: string; callId: string }, box: Sealed): Promise<string> {
    const plain = await this.keyring.open(box, { spaceId: at.spaceId, entityId: at.callId, field: 'reason' });
    return Buffer.from(plain).toString('utf8');
  }
}
