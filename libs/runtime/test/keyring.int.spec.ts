import { randomBytes } from 'node:crypto';
import { MAX_CONTENT_BYTES, type Sealed, sealed } from '@holdpoint/contracts';
import { type DatabaseRole, type TestDatabase, testDatabase } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Kysely, sql } from 'kysely';
import {
  ContentDestroyed,
  type ContentPlace,
  ContentUnreadable,
  Keyring,
  type KeyringOptions,
  MasterKey,
  openDatabase,
} from '../src/index.js';

const place = { spaceId: 'acme', entityId: 'c1', field: 'arguments' } as const satisfies ContentPlace;
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

let database: TestDatabase;
const open = new Map<DatabaseRole, Kysely<unknown>>();
const masterBytes = randomBytes(32);
const master = new MasterKey(masterBytes);

const db = (role: DatabaseRole) => {
  const known = open.get(role) ?? openDatabase<unknown>(database.url(role), { max: 5 });
  open.set(role, known);
  return known;
};
const keyring = (role: DatabaseRole, options?: KeyringOptions) => new Keyring(db(role), master, options);

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  await Promise.all([...open.values()].map((o) => o.destroy()));
  await database.drop();
});

describe('a conversation has one key', () => {
  test('every racer gets the same', async () => {
    const racers = Array.from({ length: 40 }, () => keyring('agent-engine').create('acme', 'race'));
    const kids = await Promise.all(racers);
    expect(new Set(kids).size).toBe(1);
    expect(kids[0]).toMatch(/^dk_[0-9a-f]{32}$/);
    expect(await keyring('agent-engine').create('acme', 'race')).toBe(kids[0]);
    expect(await keyring('agent-engine').create('side', 'race')).not.toBe(kids[0]);
  });
  test('which agent-engine alone may make, and a service without a grant cannot read', async () => {
    await keyring('agent-engine').create('acme', 'alone');
    await expect(keyring('staging').create('acme', 'mine')).rejects.toMatchObject({ code: '42501' });
    await expect(keyring('taskboard').seal({ ...place, conversationId: 'alone' }, 'x')).rejects.toMatchObject({
      code: '42501',
    });
  });
  test('nothing is sealed before it exists, nor under a name that is no token', async () => {
    await expect(keyring('staging').seal({ ...place, conversationId: 'none' }, 'x')).rejects.toThrow('has no data key');
    await expect(keyring('agent-engine').create('acme/x', 'y')).rejects.toThrow();
  });
});

describe('a box', () => {
  let kid: string;
  let box: Sealed;
  beforeAll(async () => {
    kid = await keyring('agent-engine').create('acme', 'box');
    await keyring('agent-engine').create('side', 'box');
    box = await keyring('agent-engine').seal({ ...place, kid }, '{"to":"bob","n":9007199254740993}');
  });

  test('opens for another service, byte for byte', async () => {
    expect(sealed.parse(box)).toEqual(box);
    expect(JSON.stringify(box)).not.toContain('bob');
    expect(text(await keyring('staging').open(box, place))).toBe('{"to":"bob","n":9007199254740993}');
    const bytes = randomBytes(300);
    const other = await keyring('staging').seal({ ...place, conversationId: 'box', field: 'reason' }, bytes);
    expect(other.kid).toBe(kid);
    expect(bytes.equals(await keyring('audit').open(other, { ...place, field: 'reason' }))).toBe(true);
  });
  test('never twice the same', async () => {
    const again = await keyring('agent-engine').seal({ ...place, kid }, '{"to":"bob","n":9007199254740993}');
    expect(again.iv).not.toBe(box.iv);
    expect(again.ct).not.toBe(box.ct);
  });
  test.each<[string, Partial<ContentPlace>]>([
    ['call', { entityId: 'c2' }],
    ['field', { field: 'result' }],
    ['space', { spaceId: 'side' }],
  ])('does not open for another %s', async (_, other) => {
    await expect(keyring('staging').open(box, { ...place, ...other })).rejects.toBeInstanceOf(ContentUnreadable);
  });
  test('does not open when a bit of it changed, nor under a key that is not there', async () => {
    const flip = (b64: string) => {
      const bytes = Buffer.from(b64, 'base64url');
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      return bytes.toString('base64url');
    };
    const wrong = [
      { ...box, ct: flip(box.ct) },
      { ...box, iv: flip(box.iv) },
      { ...box, ct: box.ct.slice(0, -2) },
      { ...box, ct: '' },
      { ...box, kid: 'dk_none' },
    ];
    for (const b of wrong) await expect(keyring('staging').open(b, place)).rejects.toBeInstanceOf(ContentUnreadable);
  });
  test('is not sealed under the key of another space', async () => {
    await expect(keyring('staging').seal({ ...place, kid, spaceId: 'side' }, 'x')).rejects.toThrow('another space');
  });
  test('holds 256 KiB and not a byte more', async () => {
    const most = randomBytes(MAX_CONTENT_BYTES);
    const full = await keyring('agent-engine').seal({ ...place, kid }, most);
    expect(most.equals(await keyring('agent-engine').open(full, place))).toBe(true);
    await expect(
      keyring('agent-engine').seal({ ...place, kid }, Buffer.concat([most, Buffer.of(0)])),
    ).rejects.toMatchObject({ kind: 'too-large' });
  });
  test('stays shut under another master key', async () => {
    const stranger = new Keyring(db('staging'), new MasterKey(randomBytes(32)));
    await expect(stranger.open(box, place)).rejects.toBeInstanceOf(ContentUnreadable);
  });
  test('stays shut when its key was swapped in the table', async () => {
    const other = await keyring('agent-engine').create('acme', 'swap');
    const mine = await keyring('agent-engine').seal({ ...place, kid: other }, 'x');
    await sql`update keyring.data_keys set wrapped = (select wrapped from keyring.data_keys where kid = ${kid})
              where kid = ${other}`.execute(db('superuser'));
    await expect(keyring('staging').open(mine, place)).rejects.toThrow('does not unwrap');
  });
});

test('after destruction nothing opens, nothing is sealed, and there is no second key', async () => {
  const engine = keyring('agent-engine', { cacheMs: 0 });
  const kid = await engine.create('acme', 'erased');
  const box = await engine.seal({ ...place, kid }, 'x');
  const remembering = keyring('staging');
  expect(text(await remembering.open(box, place))).toBe('x');
  await sql`update keyring.data_keys set wrapped = null, destroyed_at = clock_timestamp() where kid = ${kid}`.execute(
    db('agent-engine'),
  );
  await expect(engine.open(box, place)).rejects.toBeInstanceOf(ContentDestroyed);
  await expect(engine.seal({ ...place, kid }, 'y')).rejects.toBeInstanceOf(ContentDestroyed);
  await expect(engine.seal({ ...place, conversationId: 'erased' }, 'y')).rejects.toBeInstanceOf(ContentDestroyed);
  await expect(engine.create('acme', 'erased')).rejects.toBeInstanceOf(ContentDestroyed);
  await expect(keyring('staging').open(box, place)).rejects.toBeInstanceOf(ContentDestroyed);
});
