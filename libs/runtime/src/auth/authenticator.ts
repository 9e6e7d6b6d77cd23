import type { IncomingHttpHeaders } from 'node:http';
import type { Identity } from '@holdpoint/contracts';
import { Refusal } from '../refusal.js';
import type { IdentityFile } from './identity-file.js';
import type { Memberships } from './memberships.js';
import type { TokenVerifier } from './oidc/token-verifier.js';

/** How people are known where an issuer is set: it says who they are, and the memberships what they may do. */
export interface People {
  tokens: TokenVerifier;
  memberships: Memberships;
}

/**
 * Whom a request's credentials prove. Services are in the identity file. People are in it only where no issuer is set, so
 * that each person has their roles from one place.
 */
export class Authenticator {
  constructor(
    private readonly identities: IdentityFile,
    private readonly people: People | undefined,
  ) {}

  /** @throws Refusal `unauthenticated`, or `unavailable` when it cannot be known */
  async identify(headers: IncomingHttpHeaders): Promise<Identity> {
    const key = headers['x-service-key'];
    if (key !== undefined) return this.#service(key, headers.authorization !== undefined);
    const token = bearerToken(headers.authorization);
    const known = await this.identities.find(token);
    if (known?.kind === 'service') return known;
    if (this.people === undefined) {
      if (known !== null) return known;
    } else if (/^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)) {
      const { id, name } = await this.people.tokens.verify(token);
      return { kind: 'person', id, name, ...(await this.people.memberships.standingOf(id)) };
    }
    throw unknown('The bearer token is not known here; ask the operator for a valid one.');
  }

  /** The other way for a service to prove itself (seed 001). */
  async #service(key: string | string[], alsoBearer: boolean): Promise<Identity> {
    if (alsoBearer) throw unknown('Send either a bearer token or a service key, not both.');
    const known = typeof key === 'string' ? await this.identities.find(key) : null;
    if (known?.kind === 'service') return known;
    throw unknown('The service key is not known here; ask the operator for a valid one.');
  }
}

const unknown = (detail: string): Refusal => new Refusal('unauthenticated', 'auth.token-unknown', detail);

function bearerToken(header: string | undefined): string {
  const token = /^bearer +([\w.~+/-]+=*)$/i.exec(header ?? '')?.[1];
  if (token === undefined)
    throw new Refusal('unauthenticated', 'auth.token-missing', 'Send your token as `Authorization: Bearer <token>`.');
  return token;
}
