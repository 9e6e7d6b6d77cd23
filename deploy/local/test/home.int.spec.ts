import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openHome } from '../src/home.js';
import { writeIdentities } from '../src/identities.js';
import { REPOSITORY } from '../src/repository.js';
import { loadSecrets } from '../src/secrets.js';

let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'home-'));
  // Under root the user `postgres` has to pass.
  await chmod(scratch, 0o711);
});
afterAll(() => rm(scratch, { recursive: true }));

test('the checkout, what is in it, what is around it and a link into it are refused, and nothing is made', async () => {
  const link = join(scratch, 'link');
  await symlink(REPOSITORY, link);
  for (const path of [REPOSITORY, join(REPOSITORY, 'state', 'holdpoint'), dirname(REPOSITORY), join(link, 'state')])
    await expect(openHome(path)).rejects.toThrow('outside the checkout');
  await expect(stat(join(REPOSITORY, 'state'))).rejects.toThrow('ENOENT');
});

test('a folder that holds something else is refused', async () => {
  const path = join(scratch, 'photos');
  await mkdir(path);
  await writeFile(join(path, 'one.jpg'), '');
  await expect(openHome(path)).rejects.toThrow('holds something else');
  expect(await readdir(path)).toEqual(['one.jpg']);
});

test('a place where nothing can be made is refused at once, and named', async () => {
  await writeFile(join(scratch, 'file'), '');
  for (const path of ['/proc/holdpoint', '/proc/x/y', join(scratch, 'file', 'x')])
    await expect(openHome(path)).rejects.toThrow(`HOLDPOINT_HOME (${path}) cannot be used`);
});

test('secrets are made once and are for the owner alone', async () => {
  const home = await openHome(join(scratch, 'new', 'home'));
  const first = await loadSecrets(home, ['ada'], []);
  const again = await loadSecrets(await openHome(home.path), ['ada', 'ben'], []);
  expect(again).toEqual({ ...first, people: { ada: first.people['ada'], ben: again.people['ben'] } });
  await writeIdentities(home, again);
  for (const file of [home.secrets, home.masterKey, home.identities])
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(home.path)).mode & 0o066).toBe(0);
});
