import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { MAX_CONTENT_BYTES, type Sealed, type SealedField, sealContext, token } from '@holdpoint/contracts';
import type { Kysely, Selectable } from 'kysely';
import { Refusal } from '../refusal.js';
import { openBox, sealBox } from './aes.js';
import { ExpiringCache } from './expiring-cache.js';
import type { MasterKey } from './master-key.js';

/** The data key was destroyed on purpose: the content is erased, for ever. */
export class ContentDestroyed extends Error {
  override readonly name = 'ContentDestroyed';
}

/** The box does not open: tampered with, moved to another place, or sealed under a key that this keyring cannot unwrap. */
export class ContentUnreadable extends Error {
  override readonly name = 'ContentUnreadable';
}

/** Where a box belongs. It opens there and nowhere else. */
export interface ContentPlace {
  spaceId: string;
  entityId: string;
  field: SealedField;
}

/** Which data key seals: named itself, or as the key of a conversation. */
export type SealTarget = ContentPlace & ({ kid: string } | { conversationId: string });

export interface KeyringOptions {
  /** How long a key may be used without asking the database again, at most 60,000 ms. */
  cacheMs?: number;
  cacheSize?: number;
}

interface DataKeys {
  kid: string;
  space_id: string;
  conversation_id: string;
  wrapped: Uint8Array | null;
}
interface KeyringTables {
  data_keys: DataKeys;
}
interface DataKey {
  kid: string;
  spaceId: string;
  key: KeyObject;
}

const MAX_CACHE_MS = 60_000;

/**
 * Seals and opens content under one data key a conversation (charter, section 3). Data keys live in
 * `keyring.data_keys`, wrapped under the master key; erasure is the loss of `wrapped`, and takes effect within `cacheMs`.
 */
export class Keyring {
  readonly #db: Kysely<KeyringTables>;
  readonly #master: MasterKey;
  readonly #cache: ExpiringCache<DataKey>;

  // biome-ignore lint/suspicious/noExplicitAny: any service's database will do; the keyring's schema is named here
  constructor(db: Kysely<any>, masterKey: MasterKey, options: KeyringOptions = {}) {
    this.#db = db.withSchema('keyring');
    this.#master = masterKey;
    this.#cache = new ExpiringCache(
      Math.min(options.cacheMs ?? MAX_CACHE_MS, MAX_CACHE_MS),
      options.cacheSize ?? 1_000,
    );
  }

  /**
   * The conversation's key, made if there is none; the same `kid` to every racer. Only agent-engine's role may insert.
   * @throws ContentDestroyed when the conversation was erased: it has no second key
   */
  async create(spaceId: string, conversationId: string): Promise<string> {
    const kid = `dk_${randomBytes(16).toString('hex')}`;
    const dataKey = randomBytes(32);
    const wrapped = await this.#master.wrap(
      dataKey,
      wrapContext(kid, token.parse(spaceId), token.parse(conversationId)),
    );
    dataKey.fill(0);
    const made = await this.#db
      .insertInto('data_keys')
      .values({ kid, space_id: spaceId, conversation_id: conversationId, wrapped })
      .onConflict((c) => c.columns(['space_id', 'conversation_id']).doNothing())
      .returning('kid')
      .executeTakeFirst();
    return made?.kid ?? (await this.#load({ spaceId, conversationId })).kid;
  }

  /**
   * @throws Refusal `content.too-large` above 256 KiB
   * @throws ContentDestroyed when the key is gone
   * @throws Error when the conversation has no key, or the key belongs to another space
   */
  async seal(target: SealTarget, content: Uint8Array | string): Promise<Sealed> {
    const plain = typeof content === 'string' ? Buffer.from(content) : content;
    if (plain.length > MAX_CONTENT_BYTES)
      throw new Refusal('too-large', 'content.too-large', `Content is at most ${MAX_CONTENT_BYTES} bytes; shorten it.`);
    const { kid, spaceId, key } = await this.#load(target);
    if (spaceId !== target.spaceId) throw new Error(`data key ${kid} belongs to another space`);
    const { iv, ct } = sealBox(key, plain, placeContext(target));
    return { kid, iv: iv.toString('base64url'), ct: ct.toString('base64url') };
  }

  /**
   * @throws ContentDestroyed when the key is gone
   * @throws ContentUnreadable when the box was changed or belongs elsewhere
   */
  async open(box: Sealed, place: ContentPlace): Promise<Uint8Array> {
    const { spaceId, key } = await this.#load({ kid: box.kid });
    if (spaceId !== place.spaceId) throw new ContentUnreadable(`data key ${box.kid} belongs to another space`);
    try {
      return openBox(key, Buffer.from(box.iv, 'base64url'), Buffer.from(box.ct, 'base64url'), placeContext(place));
    } catch (cause) {
      throw new ContentUnreadable(`a sealed ${place.field} of ${place.entityId} does not open`, { cause });
    }
  }

  /** Lets go of a key that is in hand, once it was destroyed here; other processes do so within `cacheMs`. */
  forget(key: { kid: string; spaceId: string; conversationId: string }): void {
    this.#cache.delete(key.kid);
    this.#cache.delete(`${key.spaceId}/${key.conversationId}`);
  }

  async #load(by: { kid: string } | { spaceId: string; conversationId: string }): Promise<DataKey> {
    const name = 'kid' in by ? by.kid : `${by.spaceId}/${by.conversationId}`;
    const cached = this.#cache.get(name);
    if (cached !== undefined) return cached;
    const row = await this.#row(by);
    if (row === undefined) {
      if ('kid' in by) throw new ContentUnreadable(`there is no data key ${name}`);
      throw new Error(`conversation ${name} has no data key; agent-engine makes it before anything is sealed`);
    }
    const key = await this.#unwrap(row);
    this.#cache.set(name, key);
    return key;
  }

  #row(by: { kid: string } | { spaceId: string; conversationId: string }) {
    const query = this.#db.selectFrom('data_keys').select(['kid', 'space_id', 'conversation_id', 'wrapped']);
    return (
      'kid' in by
        ? query.where('kid', '=', by.kid)
        : query.where('space_id', '=', by.spaceId).where('conversation_id', '=', by.conversationId)
    ).executeTakeFirst();
  }

  async #unwrap(row: Selectable<DataKeys>): Promise<DataKey> {
    if (row.wrapped === null) throw new ContentDestroyed(`data key ${row.kid} was destroyed`);
    try {
      const bytes = await this.#master.unwrap(row.wrapped, wrapContext(row.kid, row.space_id, row.conversation_id));
      const key = createSecretKey(bytes);
      bytes.fill(0);
      return { kid: row.kid, spaceId: row.space_id, key };
    } catch (cause) {
      throw new ContentUnreadable(`data key ${row.kid} does not unwrap: is it the right master key?`, { cause });
    }
  }
}

const wrapContext = (kid: string, spaceId: string, conversationId: string): string =>
  `holdpoint/data-key/1/${kid}/${spaceId}/${conversationId}`;

/** Tokens hold no slash, so no two places share a context. */
const placeContext = (p: ContentPlace): string => sealContext(token.parse(p.spaceId), token.parse(p.entityId), p.field);
