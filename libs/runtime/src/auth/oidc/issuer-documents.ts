import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { Unavailable } from '../../faults.js';

const TIMEOUT_MS = 3_000;

/** By which Holdpoint's own development issuer marks its documents and tokens. Whoever carries it is for trials alone. */
export const DEVELOPMENT_MARK = 'holdpoint_development';

const marked = { [DEVELOPMENT_MARK]: z.boolean().optional() };
const discovery = z.looseObject({ issuer: z.string(), jwks_uri: z.url(), ...marked });
const keySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })), ...marked });

export interface IssuerDocuments {
  keys: JSONWebKeySet;
  isDevelopment: boolean;
}

/**
 * The issuer's public keys, found by its discovery document unless their address is given.
 * @throws Unavailable when there is no usable answer in time
 */
export async function fetchIssuerDocuments(issuer: string, jwksUrl: string | undefined): Promise<IssuerDocuments> {
  const found = jwksUrl === undefined ? await discover(issuer) : undefined;
  const address = jwksUrl ?? (found?.jwks_uri as string);
  if (!isProtected(address)) throw new Unavailable(`the keys of ${issuer} are not to be had over https`);
  const { keys, ...set } = await fetchJson(address, keySet);
  return {
    // A secret key in a public document proves nothing.
    keys: { keys: keys.filter((key) => ['RSA', 'EC', 'OKP'].includes(key.kty)) } as unknown as JSONWebKeySet,
    isDevelopment: found?.[DEVELOPMENT_MARK] === true || set[DEVELOPMENT_MARK] === true,
  };
}

/** OpenID Connect Discovery 1.0, section 4: the document names the very issuer that it was asked for. */
async function discover(issuer: string): Promise<z.infer<typeof discovery>> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const found = await fetchJson(url, discovery);
  if (found.issuer !== issuer) throw new Unavailable(`${url} is the document of another issuer`);
  return found;
}

/** Keys that anybody on the way could replace prove nobody. */
export function isProtected(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname));
}

async function fetchJson<S extends z.ZodType>(url: string, schema: S): Promise<z.infer<S>> {
  try {
    const answer = await fetch(url, {
      headers: { accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    return schema.parse(await answer.json());
  } catch (cause) {
    throw new Unavailable(`${url} gives no usable answer`, { cause });
  }
}
