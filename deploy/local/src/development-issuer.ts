import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { writePrivately } from '@holdpoint/provision';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';

export const AUDIENCE = 'holdpoint';
/** By it services know the issuer, and refuse it outside development. */
const MARK = { holdpoint_development: true };
/** Longer than anybody's `npm start`; the supervisor has new ones made every day. */
const TOKEN_DAYS = 30;
const BODY_LIMIT = 4096;
const ALG = 'ES256';

export interface DevelopmentPerson {
  id: string;
  name: string;
  secret: string;
}

export interface DevelopmentIssuerOptions {
  port: number;
  /** Made once, so that tokens outlive the process. */
  keyFile: string;
  people: readonly DevelopmentPerson[];
}

/**
 * An OpenID Connect issuer for one machine: discovery, keys, and a token for whoever shows a person's secret (RFC 6749,
 * section 4.3). Listens on 127.0.0.1 alone and marks documents and tokens as development's.
 */
export async function startDevelopmentIssuer({ port, keyFile, people }: DevelopmentIssuerOptions): Promise<Server> {
  const issuer = `http://127.0.0.1:${port}`;
  const key = await loadKey(keyFile);
  const { d: _private, ...publicKey } = key;
  const signer = await importJWK(key, ALG);

  const token = async (request: IncomingMessage): Promise<[status: number, body: object]> => {
    const form = new URLSearchParams(await bodyOf(request));
    if (form.get('grant_type') !== 'password') return [400, { error: 'unsupported_grant_type' }];
    const person = people.find((p) => p.id === form.get('username'));
    if (!isEqual(form.get('password') ?? '', person?.secret) || !person) return [400, { error: 'invalid_grant' }];
    const access_token = await new SignJWT({ name: person.name, ...MARK })
      .setProtectedHeader({ alg: ALG, kid: key.kid as string, typ: 'at+jwt' })
      .setIssuer(issuer)
      .setAudience(AUDIENCE)
      .setSubject(person.id)
      .setIssuedAt()
      .setExpirationTime(`${TOKEN_DAYS}d`)
      .sign(signer);
    return [200, { access_token, token_type: 'Bearer', expires_in: TOKEN_DAYS * 86_400 }];
  };

  const routes: Record<string, (request: IncomingMessage) => [number, object] | Promise<[number, object]>> = {
    'GET /readyz': () => [200, {}],
    'GET /.well-known/openid-configuration': () => [
      200,
      {
        issuer,
        jwks_uri: `${issuer}/jwks`,
        token_endpoint: `${issuer}/token`,
        grant_types_supported: ['password'],
        response_types_supported: [],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: [ALG],
        ...MARK,
      },
    ],
    'GET /jwks': () => [200, { keys: [{ ...publicKey, alg: ALG, use: 'sig' }], ...MARK }],
    'POST /token': token,
  };
  const server = createServer((request, response) => {
    const route = routes[`${request.method} ${request.url}`];
    Promise.resolve(route ? route(request) : ([404, { error: 'not_found' }] as [number, object]))
      .then(([status, body]) => answer(response, status, body))
      .catch(() => answer(response, 400, { error: 'invalid_request' }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

/** A token of the issuer, as the person. @throws when it does not give one */
export async function fetchToken(issuer: string, { id, secret }: Omit<DevelopmentPerson, 'name'>): Promise<string> {
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', username: id, password: secret }),
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  });
  const { access_token } = (await answer.json()) as { access_token?: string };
  if (access_token === undefined) throw new Error(`the development issuer gives ${id} no token (${answer.status})`);
  return access_token;
}

async function loadKey(path: string): Promise<JWK> {
  const text = await readFile(path, 'utf8').catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') throw err;
  });
  if (text !== undefined) return JSON.parse(text) as JWK;
  const { privateKey } = await generateKeyPair(ALG, { extractable: true });
  const jwk = await exportJWK(privateKey);
  const key = { ...jwk, kid: await calculateJwkThumbprint(jwk) };
  await writePrivately(path, `${JSON.stringify(key)}\n`);
  return key;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > BODY_LIMIT) throw new Error('the body is too long');
  }
  return body;
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

function isEqual(given: string, secret: string | undefined): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return secret !== undefined && timingSafeEqual(hash(given), hash(secret));
}
