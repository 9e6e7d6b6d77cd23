import { readFile } from 'node:fs/promises';
import type { Role } from '@holdpoint/contracts';
import { SERVICES } from '@holdpoint/provision';
import { type IdentityFileContent, identityFile, sha256Hex } from '@holdpoint/runtime';
import type { Home } from './home.js';
import { writePrivately } from './private-file.js';
import type { Secrets } from './secrets.js';

interface Person {
  id: string;
  name: string;
  spaces: Record<string, Role>;
}

export const PEOPLE: readonly Person[] = [
  { id: 'ada', name: 'Ada Keller', spaces: { acme: 'owner' } },
  { id: 'ben', name: 'Ben Osei', spaces: { acme: 'admin' } },
  { id: 'mia', name: 'Mia Lindqvist', spaces: { acme: 'member' } },
  { id: 'otto', name: 'Otto Brandt', spaces: { other: 'member' } },
];

export const SPACE_CREATORS = ['ada', 'otto'];

/** Writes who there is, by hashes of tokens alone. People whom an operator added to the file stay in it. */
export async function writeIdentities(home: Home, secrets: Secrets): Promise<void> {
  const ours = PEOPLE.map((p) => ({ ...p, tokenSha256: sha256Hex(secrets.people[p.id] ?? '') }));
  const text = await readFile(home.identities, 'utf8').catch(() => undefined);
  const known = text === undefined ? [] : identityFile.parse(JSON.parse(text)).people;
  const content: IdentityFileContent = {
    people: [...ours, ...known.filter((k) => !PEOPLE.some((p) => p.id === k.id))],
    services: SERVICES.map((id) => ({ id, tokenSha256: sha256Hex(secrets.services[id]) })),
  };
  await writePrivately(home.identities, `${JSON.stringify(content, null, 2)}\n`);
}
