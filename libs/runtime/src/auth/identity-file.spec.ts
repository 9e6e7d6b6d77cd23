import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sha256Hex } from '../digest.js';
import { Refusal } from '../refusal.js';
import { IdentityFile } from './identity-file.js';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdpoint-identity-'));
  path = join(dir, 'identities.json');
});
afterEach(() => rmSync(dir, { recursive: true }));

const ada = { id: 'ada', name: 'Ada', spaces: { acme: 'owner' }, tokenSha256: sha256Hex('ada-token') };
const staging = { id: 'staging', tokenSha256: sha256Hex('staging-token') };

function write(content: unknown): void {
  writeFileSync(`${path}.new`, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

test('knows people and services by their tokens', async () => {
  write({ people: [ada], services: [staging] });
  const file = new IdentityFile(path);
  expect(await file.find('ada-token')).toEqual({ kind: 'person', id: 'ada', name: 'Ada', spaces: { acme: 'owner' } });
  expect(await file.find('staging-token')).toEqual({ kind: 'service', id: 'staging', name: 'staging', spaces: {} });
  for (const no of ['', 'ADA-TOKEN', sha256Hex('ada-token')]) expect(await file.find(no)).toBeNull();
});

test('milo#768: a change takes effect at the next request', async () => {
  write({ people: [ada], services: [] });
  const file = new IdentityFile(path);
  expect((await file.find('ada-token'))?.spaces).toEqual({ acme: 'owner' });
  write({ people: [{ ...ada, spaces: { acme: 'admin' } }], services: [] });
  expect((await file.find('ada-token'))?.spaces).toEqual({ acme: 'admin' });
  const other = new IdentityFile(path);
  expect(await other.find('ada-token')).not.toBeNull();
  write({ people: [], services: [] });
  for (const instance of [file, other, file, other, other, file]) expect(await instance.find('ada-token')).toBeNull();
});

test('a file that is gone or wrong lets nobody in, until it is right again', async () => {
  const file = new IdentityFile(path);
  const refused = () => expect(file.find('ada-token')).rejects.toMatchObject({ code: 'auth.identities-unreadable' });
  await refused();
  for (const wrong of [
    '{"people": [',
    { people: [ada] },
    { people: [{ ...ada, spaces: { acme: 'king' } }], services: [] },
    { people: [ada], services: [{ ...staging, tokenSha256: ada.tokenSha256 }] },
    { people: [ada, { ...ada, tokenSha256: sha256Hex('other') }], services: [] },
  ]) {
    write({ people: [ada], services: [] });
    expect(await file.find('ada-token')).not.toBeNull();
    write(wrong);
    await refused();
  }
  write({ people: [ada], services: [] });
  chmodSync(path, 0o666);
  await refused();
  chmodSync(path, 0o600);
  expect(await file.find('ada-token')).not.toBeNull();
  rmSync(path);
  await refused();
  await expect(file.check()).rejects.toBeInstanceOf(Refusal);
});
