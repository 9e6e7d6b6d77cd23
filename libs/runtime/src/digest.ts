import { createHash } from 'node:crypto';
import { type FrozenContext, frozenStatement } from '@holdpoint/contracts';

export const sha256 = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest();

/** Lower-case hex. Text is hashed as UTF-8. */
export const sha256Hex = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/** What `tool.announced` is about, as a token of its subject. The two names are never joined in a way that can be read twice. */
export const toolId = (server: string, tool: string): string => sha256Hex(`${server}\0${tool}`).slice(0, 40);

/** A frozen call's digest: what the reviewer saw and what the executor hashes again (charter, section 5). Lower-case hex. */
export const frozenDigest = (context: FrozenContext, nonce: Uint8Array, argumentBytes: Uint8Array): string =>
  sha256Hex(frozenStatement(context, nonce, argumentBytes));
