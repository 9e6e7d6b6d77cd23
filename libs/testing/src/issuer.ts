import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';

export interface TestIssuerOptions {
  /** Claims that the issuer marks its own documents with. */
  mark?: Record<string, unknown>;
}

export interface TestIssuer {
  /** As `OIDC_ISSUER`. */
  url: string;
  /** As `OIDC_AUDIENCE`. */
  audience: string;
  /** A token of `sub` that is good for an hour; claims that are given come in place of the usual ones, or take them away. */
  token(sub: string, claims?: Record<string, unknown>): Promise<string>;
  /** From now on another key signs, and the old one is no longer named. */
  rotate(): Promise<void>;
  /** How often the keys were fetched. */
  fetched(): number;
  /** Stops answering; `start` answers again, at the same address. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** The public half of the key in use, as anybody can fetch it. */
  publicKey(): Promise<object>;
}

/** An OpenID Connect issuer as far as its discovery document and keys go, with keys of its own. Stop it when done. */
export async function testIssuer({ mark = {} }: TestIssuerOptions = {}): Promise<TestIssuer> {
  const audience = 'holdpoint';
  let kid = 0;
  let keys = await newKeys();
  let port = 0;
  let fetched = 0;
  const at = () => `http://127.0.0.1:${port}`;
  const publicKey = async () => ({ ...(await exportJWK(keys.publicKey)), kid: `k${kid}`, alg: 'RS256', use: 'sig' });
  const server = createServer((request, response) => {
    void (async () => {
      const documents: Record<string, () => unknown> = {
        '/.well-known/openid-configuration': () => ({ issuer: at(), jwks_uri: `${at()}/jwks`, ...mark }),
        '/jwks': async () => {
          fetched++;
          return { keys: [await publicKey()], ...mark };
        },
      };
      const document = await documents[request.url ?? '']?.();
      response.writeHead(document ? 200 : 404, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify(document ?? {}));
    })();
  });
  const start = async () => {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  };
  await start();

  return {
    url: at(),
    audience,
    token: (sub, claims = {}) => {
      const now = Math.floor(Date.now() / 1000);
      const usual = { iss: at(), aud: audience, sub, iat: now, exp: now + 3600, name: `${sub} by name` };
      const all = Object.fromEntries(Object.entries({ ...usual, ...claims }).filter(([, v]) => v !== undefined));
      return new SignJWT(all).setProtectedHeader({ alg: 'RS256', kid: `k${kid}` }).sign(keys.privateKey);
    },
    rotate: async () => {
      keys = await newKeys();
      kid++;
    },
    fetched: () => fetched,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
    start,
    publicKey,
  };
}

const newKeys = (): Promise<{ publicKey: CryptoKey; privateKey: CryptoKey }> =>
  generateKeyPair('RS256', { extractable: true });
