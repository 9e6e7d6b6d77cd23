import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MasterKey } from './master-key.js';
import { isPrivate } from './private-file.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdpoint-master-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

function file(content: string, mode = 0o600): string {
  const path = join(dir, randomBytes(4).toString('hex'));
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

describe('MasterKey', () => {
  test('unwraps what the same file wrapped', async () => {
    const path = file(`${randomBytes(32).toString('base64')}\n`);
    const dataKey = randomBytes(32);
    const wrapped = await MasterKey.fromFile(path).wrap(dataKey, 'a');
    expect(Buffer.from(wrapped).includes(dataKey)).toBe(false);
    expect(Buffer.from(await MasterKey.fromFile(path).unwrap(wrapped, 'a')).equals(dataKey)).toBe(true);
  });

  test('not for another context, not under another key, not with a bit changed', async () => {
    const key = new MasterKey(randomBytes(32));
    const wrapped = await key.wrap(randomBytes(32), 'a');
    await expect(key.unwrap(wrapped, 'b')).rejects.toThrow();
    await expect(new MasterKey(randomBytes(32)).unwrap(wrapped, 'a')).rejects.toThrow();
    for (const at of [0, 12, wrapped.length - 1])
      await expect(key.unwrap(wrapped.with(at, (wrapped[at] ?? 0) ^ 1), 'a')).rejects.toThrow();
    await expect(key.unwrap(wrapped.subarray(0, 20), 'a')).rejects.toThrow();
  });

  test.each([0o640, 0o604, 0o620])('refuses a file of mode %o', (mode) => {
    expect(() => MasterKey.fromFile(file(randomBytes(32).toString('base64'), mode))).toThrow('chmod 600');
  });

  test.each([
    ['too short', randomBytes(16).toString('base64')],
    ['hex', randomBytes(32).toString('hex')],
    ['empty', ''],
    ['with rubbish', `${randomBytes(32).toString('base64')}!!`],
  ])('refuses a key that is %s', (_, content) => {
    expect(() => MasterKey.fromFile(file(content))).toThrow('32 bytes in base64');
  });

  test.each([
    ['a Secret of Kubernetes, for our group', 0o440, 0, 2000, true],
    ['that the group may write', 0o460, 0, 2000, false],
    ['that all may read', 0o444, 0, 2000, false],
    ['of a group that is not ours', 0o440, 0, 2001, false],
    ["of root's own group", 0o440, 0, 0, false],
    ['that another user holds', 0o440, 1234, 2000, false],
    ['that we hold ourselves, open to our group', 0o440, 1000, 2000, false],
  ])('a file %s', (_, mode, uid, gid, taken) => {
    expect(isPrivate({ mode, uid, gid }, { uid: 1000, groups: [0, 2000] })).toBe(taken);
    expect(isPrivate({ mode, uid, gid }, { uid: 0, groups: [0, 2000] })).toBe(false);
  });
});
