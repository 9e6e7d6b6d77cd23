import { describe, expect, test } from '@jest/globals';
import { frozenDigest, sha256, sha256Hex } from './digest.js';

describe('digests', () => {
  test('SHA-256 of "abc" (FIPS 180-4, B.1)', () => {
    const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    expect(sha256Hex('abc')).toBe(abc);
    expect(Buffer.from(sha256(Buffer.from('abc'))).toString('hex')).toBe(abc);
  });

  test('a frozen digest binds context, nonce and bytes', () => {
    const context = {
      callId: 'c1',
      spaceId: 'acme',
      principal: { kind: 'person', id: 'ada' },
      agent: 'clerk',
      server: 'builtin',
      tool: 'Mail',
      action: 'send',
      schemaDigest: sha256Hex('schema'),
    } as const;
    const nonce = new Uint8Array(32);
    const bytes = Buffer.from('{"to":"bob"}');
    const digest = frozenDigest(context, nonce, bytes);
    const others = [
      frozenDigest({ ...context, callId: 'c2' }, nonce, bytes),
      frozenDigest({ ...context, action: null }, nonce, bytes),
      frozenDigest({ ...context, tool: 'Mai', action: 'lsend' }, nonce, bytes),
      frozenDigest(context, nonce.with(31, 1), bytes),
      frozenDigest(context, nonce, Buffer.from('{"to": "bob"}')),
    ];
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set([digest, ...others]).size).toBe(6);
  });
});
