import { timingSafeEqual } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { sha256Hex as hexDigest, type Identity, identity, token } from '@holdpoint/contracts';
import { z } from 'zod';
import { sha256 } from '../digest.js';
import { Refusal } from '../refusal.js';

const person = z.strictObject({ ...identity.omit({ kind: true }).shape, tokenSha256: hexDigest });
const service = z.strictObject({ id: token, tokenSha256: hexDigest });

/** Who there is. Tokens are kept as their SHA-256 only. */
export const identityFile = z.strictObject({ people: z.array(person), services: z.array(service) });
export type IdentityFileContent = z.infer<typeof identityFile>;

interface Known {
  tokenHash: Buffer;
  identity: Identity;
}

/**
 * The identity file, read again whenever it changed, so that a token taken out of it is dead at the next request. Write
 * it whole and rename it into place. A file that is missing, malformed or writable by others lets nobody in.
 */
export class IdentityFile {
  #version = '';
  #known: Known[] = [];

  constructor(private readonly path: string) {}

  /** @throws Refusal `auth.identities-unreadable` */
  async check(): Promise<void> {
    await this.#refresh();
  }

  /**
   * The identity that a token proves, or null. Compares with every entry, in constant time each.
   * @throws Refusal `auth.identities-unreadable`
   */
  async find(token: string): Promise<Identity | null> {
    await this.#refresh();
    const hash = sha256(Buffer.from(token));
    let found: Identity | null = null;
    for (const known of this.#known) if (timingSafeEqual(known.tokenHash, hash)) found = known.identity;
    return found;
  }

  async #refresh(): Promise<void> {
    try {
      if ((await this.#versionOnDisk()) === this.#version) return;
      const file = await open(this.path, 'r');
      try {
        const info = await file.stat({ bigint: true });
        if ((info.mode & 0o022n) !== 0n) throw new Error('others may write the identity file: chmod 600 it');
        this.#known = parse(await file.readFile('utf8'));
        this.#version = versionOf(info);
      } finally {
        await file.close();
      }
    } catch (cause) {
      this.#version = '';
      this.#known = [];
      throw new Refusal(
        'unavailable',
        'auth.identities-unreadable',
        'The identity file cannot be read, so nobody can be let in. The operator must mend it.',
        { cause },
      );
    }
  }

  async #versionOnDisk(): Promise<string> {
    return versionOf(await stat(this.path, { bigint: true }));
  }
}

const versionOf = (s: { ino: bigint; size: bigint; mtimeNs: bigint; ctimeNs: bigint }): string =>
  `${s.ino}:${s.size}:${s.mtimeNs}:${s.ctimeNs}`;

function parse(text: string): Known[] {
  const { people, services } = identityFile.parse(JSON.parse(text));
  const known = [
    ...people.map(({ tokenSha256, ...who }) => entry(tokenSha256, { kind: 'person', ...who })),
    ...services.map(({ tokenSha256, id }) => entry(tokenSha256, { kind: 'service', id, name: id, spaces: {} })),
  ];
  if (new Set(known.map((k) => k.tokenHash.toString('hex'))).size < known.length)
    throw new Error('two identities share a token');
  if (new Set(known.map((k) => `${k.identity.kind}:${k.identity.id}`)).size < known.length)
    throw new Error('two identities share an id');
  return known;
}

const entry = (tokenSha256: string, who: Identity): Known => ({
  tokenHash: Buffer.from(tokenSha256, 'hex'),
  identity: who,
});
