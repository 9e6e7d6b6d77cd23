import { readFile } from 'node:fs/promises';
import { SERVICES, writePrivately } from '@holdpoint/provision';
import { type IdentityFileContent, identityFile, sha256Hex } from '@holdpoint/runtime';
import type { Home } from './home.js';
import { PEOPLE } from './people.js';
import type { Secrets } from './secrets.js';

/**
 * Writes which services there are, by hashes of tokens alone; people sign in at the issuer. @returns people whom an operator
 * had added: they stay in the file, and nobody looks for them there any more
 */
export async function writeIdentities(home: Home, secrets: Secrets): Promise<string[]> {
  const text = await readFile(home.identities, 'utf8').catch(() => undefined);
  const known = text === undefined ? [] : identityFile.parse(JSON.parse(text)).people;
  const others = known.filter((k) => !PEOPLE.some((p) => p.id === k.id));
  const content: IdentityFileContent = {
    people: others,
    services: SERVICES.map((id) => ({ id, tokenSha256: sha256Hex(secrets.services[id]) })),
  };
  await writePrivately(home.identities, `${JSON.stringify(content, null, 2)}\n`);
  return others.map((p) => p.id);
}
