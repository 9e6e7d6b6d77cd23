import { type TestIssuer, testIssuer } from '@holdpoint/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { SignJWT, UnsecuredJWT } from 'jose';
import { TokenVerifier } from '../src/auth/oidc/token-verifier.js';

const now = () => Math.floor(Date.now() / 1000);
const claims = { iss: '', aud: 'holdpoint', sub: 'ada', exp: now() + 3600 };

let issuer: TestIssuer;
let clock = 0;
let verifier: TokenVerifier;
beforeAll(async () => {
  Logger.overrideLogger(false);
  issuer = await testIssuer();
  claims.iss = issuer.url;
});
afterAll(() => issuer.stop());
const verifierOf = ({ url, audience }: TestIssuer, development = false) =>
  new TokenVerifier({ issuer: url, audience, development, now: () => clock });
beforeEach(() => {
  verifier = verifierOf(issuer);
});

test('says who somebody is, and by what name', async () => {
  expect(await verifier.verify(await issuer.token('ada'))).toEqual({ id: 'ada', name: 'ada by name' });
  const named = (more: Record<string, unknown>) => issuer.token('auth0|66-A', more).then((t) => verifier.verify(t));
  expect(await named({ name: undefined, preferred_username: 'ada.k' })).toEqual({ id: 'auth0|66-A', name: 'ada.k' });
  expect(await named({ name: ' \u202e\u0007 ', preferred_username: 7 })).toEqual({
    id: 'auth0|66-A',
    name: 'auth0|66-A',
  });
  expect((await named({ name: 'x'.repeat(500) })).name).toHaveLength(128);
});

const signed = (alg: string, kid: string | undefined, key: Uint8Array, more: object = {}) =>
  new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg, ...(kid && { kid }) }).sign(key);

test.each<[string, RegExp, () => Promise<string> | string]>([
  ['expired', /expired/, () => issuer.token('ada', { exp: now() - 60 })],
  ['without an end', /names no end/, () => issuer.token('ada', { exp: undefined })],
  ['not valid yet', /not valid yet/, () => issuer.token('ada', { nbf: now() + 60 })],
  ['for another audience', /another audience/, () => issuer.token('ada', { aud: 'somebody-else' })],
  ['for no audience', /another audience/, () => issuer.token('ada', { aud: undefined })],
  ['of another issuer', /another issuer/, () => issuer.token('ada', { iss: 'https://evil.example' })],
  ['of the issuer, but for a slash', /another issuer/, () => issuer.token('ada', { iss: `${issuer.url}/` })],
  ['without a subject', /names no subject/, () => issuer.token('ada', { sub: undefined })],
  ['of a subject that is no user id', /no user id/, () => issuer.token('a b')],
  ['with the mark of development', /development/, () => issuer.token('ada', { holdpoint_development: true })],
  ['with alg none', /not signed in a way/, () => new UnsecuredJWT(claims).encode().replace(/\.$/, '.x')],
  [
    'signed with the public key as a secret',
    /not signed in a way/,
    async () => signed('HS256', 'k0', new TextEncoder().encode(JSON.stringify(await issuer.publicKey()))),
  ],
  [
    'with another body under the same signature',
    /not signed by the issuer/,
    async () => {
      const [head, , signature] = (await issuer.token('ada')).split('.');
      const body = Buffer.from(JSON.stringify({ ...claims, sub: 'ben' })).toString('base64url');
      return `${head}.${body}.${signature}`;
    },
  ],
  ['no token at all', /not signed by the issuer/, () => 'aaa.bbb.ccc'],
])('refuses one %s', async (_, says, token) => {
  await expect(verifier.verify(await token())).rejects.toMatchObject({
    kind: 'unauthenticated',
    detail: expect.stringMatching(says),
  });
});

describe('keys', () => {
  test('a rotated key is found, the old one no longer counts, and made-up keys do not flood the issuer', async () => {
    const before = await issuer.token('ada');
    await verifier.verify(before);
    await issuer.rotate();
    const after = await issuer.token('ada');
    // Within the cooldown nothing is fetched.
    await expect(verifier.verify(after)).rejects.toMatchObject({ kind: 'unauthenticated' });
    clock += 10_001;
    expect((await verifier.verify(after)).id).toBe('ada');
    await expect(verifier.verify(before)).rejects.toMatchObject({ kind: 'unauthenticated' });

    const fetched = issuer.fetched();
    clock += 10_001;
    const [, body, signature] = after.split('.');
    for (let n = 0; n < 20; n++) {
      const head = Buffer.from(JSON.stringify({ alg: 'RS256', kid: `made-up-${n}` })).toString('base64url');
      await expect(verifier.verify(`${head}.${body}.${signature}`)).rejects.toMatchObject({ kind: 'unauthenticated' });
    }
    expect(issuer.fetched()).toBe(fetched + 1);
  });

  test('while the issuer is down, keys at hand work for a day, and nobody is called a liar', async () => {
    const token = await issuer.token('ada');
    await verifier.verify(token);
    await issuer.stop();
    clock += 23 * 3_600_000;
    expect((await verifier.verify(token)).id).toBe('ada');
    await issuer.rotate();
    await expect(verifier.verify(await issuer.token('ada'))).rejects.toMatchObject({
      kind: 'unavailable',
      code: 'auth.issuer-unavailable',
    });
    await expect(verifierOf(issuer).verify(token)).rejects.toMatchObject({ kind: 'unavailable' });
    clock += 2 * 3_600_000;
    await expect(verifier.verify(token)).rejects.toMatchObject({ kind: 'unavailable' });
    await issuer.start();
    clock += 1_001;
    expect((await verifier.verify(await issuer.token('ada'))).id).toBe('ada');
  });
});

test('an issuer for development is one in development alone', async () => {
  const marked = await testIssuer({ mark: { holdpoint_development: true } });
  const token = await marked.token('ada', { holdpoint_development: true });
  await expect(verifierOf(marked).prepare()).rejects.toThrow(/issuer for development/);
  await expect(verifierOf(marked).verify(token)).rejects.toMatchObject({ code: 'auth.development-issuer' });
  // Nor by its keys alone, with no discovery.
  const { url, audience } = marked;
  const bare = new TokenVerifier({ issuer: url, audience, jwksUrl: `${url}/jwks`, development: false });
  await expect(bare.prepare()).rejects.toThrow(/issuer for development/);
  expect((await verifierOf(marked, true).verify(token)).id).toBe('ada');
  await marked.stop();
});
