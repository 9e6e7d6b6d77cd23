import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { readPrivateFile } from '@holdpoint/runtime';
import type { Note } from '../domain/note.js';

const ED25519 = Uint8Array.of(1);
const ID_BYTES = 4;

/** An Ed25519 key that signs notes (c2sp.org/signed-note) under the log's name. It leaves this class only as signatures. */
export class SigningKey {
  readonly #key: KeyObject;

  private constructor(key: KeyObject) {
    this.#key = key;
  }

  /**
   * Reads a key in PEM, as `openssl genpkey -algorithm ed25519` writes it, from a file that nobody but its owner may touch.
   * @throws Error that names the file
   */
  static fromFile(path: string): SigningKey {
    const text = readPrivateFile(path, 'the signing key file');
    let key: KeyObject;
    try {
      key = createPrivateKey(text);
    } catch {
      throw new Error(`the signing key file ${path} must hold a private key in PEM`);
    }
    if (key.asymmetricKeyType !== 'ed25519') throw new Error(`the key in ${path} must be an Ed25519 key`);
    return new SigningKey(key);
  }

  /** What a verifier is given: `<name>+<key id>+<public key>`. */
  vkey(name: string): string {
    const bytes = publicBytes(this.#key);
    return `${name}+${keyId(name, bytes).toString('hex')}+${Buffer.concat([ED25519, bytes]).toString('base64')}`;
  }

  sign(name: string, text: string): Note['signatures'][number] {
    const signature = sign(null, Buffer.from(text), this.#key);
    return { name, blob: Buffer.concat([keyId(name, publicBytes(this.#key)), signature]) };
  }
}

const publicBytes = (key: KeyObject): Buffer =>
  Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url');

const keyId = (name: string, publicKey: Uint8Array): Buffer =>
  createHash('sha256').update(`${name}\n`).update(ED25519).update(publicKey).digest().subarray(0, ID_BYTES);

/** Whether the note bears a good signature by this key. */
export function isSignedBy(vkey: string, { text, signatures }: Note): boolean {
  const [name = '', id = '', ...encoded] = vkey.split('+');
  const x = Buffer.from(encoded.join('+'), 'base64').subarray(1).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return signatures.some(({ name: by, blob }) => {
    const named = by === name && Buffer.from(blob.subarray(0, ID_BYTES)).toString('hex') === id;
    return named && verify(null, Buffer.from(text), key, blob.subarray(ID_BYTES));
  });
}
