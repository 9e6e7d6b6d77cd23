import { userId } from '@holdpoint/contracts';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { Refusal } from '../../refusal.js';
import { DEVELOPMENT_MARK } from './issuer-documents.js';
import { DevelopmentIssuer, IssuerKeys, type IssuerKeysOptions } from './issuer-keys.js';

/** By a key pair alone: with a shared secret whoever checks tokens could also make them. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const CLOCK_TOLERANCE_S = 10;

export interface TokenVerifierOptions extends IssuerKeysOptions {
  audience: string;
}

/** Tokens of one issuer for one audience (RFC 7519, OpenID Connect): who a person is, and nothing of what they may do. */
export class TokenVerifier {
  readonly #options: TokenVerifierOptions;
  readonly #keys: IssuerKeys;

  constructor(options: TokenVerifierOptions) {
    this.#options = options;
    this.#keys = new IssuerKeys(options);
  }

  /** Fetches the keys. @throws Unavailable, DevelopmentIssuer */
  prepare(): Promise<void> {
    return this.#keys.fetch();
  }

  /**
   * Whom the token proves.
   * @throws Refusal `unauthenticated` when it proves nobody, `unavailable` when that cannot be known
   */
  async verify(token: string): Promise<{ id: string; name: string }> {
    const { issuer, audience, development } = this.#options;
    let claims: JWTPayload;
    try {
      const requirements = {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        requiredClaims: ['exp', 'sub'],
      };
      claims = (await jwtVerify(token, this.#keys.find, requirements)).payload;
    } catch (err) {
      throw err instanceof errors.JOSEError ? refused(err) : unknowable(err);
    }
    if (claims[DEVELOPMENT_MARK] !== undefined && !development)
      throw invalid('it is from an issuer for development', undefined);
    const id = userId.safeParse(claims.sub);
    if (!id.success) throw invalid('its subject is no user id: 1 to 128 printable ASCII characters', undefined);
    return { id: id.data, name: nameOf(claims) ?? id.data };
  }
}

/** The first claim that names the person to others. */
function nameOf(claims: JWTPayload): string | undefined {
  for (const claim of [claims['name'], claims['preferred_username']]) {
    const name = typeof claim === 'string' ? claim.replaceAll(/\p{C}/gu, '').trim().slice(0, 128) : '';
    if (name !== '') return name;
  }
  return undefined;
}

const wrongClaims: Record<string, string> = {
  iss: 'it is from another issuer',
  aud: 'it is for another audience',
  nbf: 'it is not valid yet',
  exp: 'it names no end',
  sub: 'it names no subject',
};

function refused(err: errors.JOSEError): Refusal {
  if (err instanceof errors.JWTExpired)
    return new Refusal('unauthenticated', 'auth.token-expired', 'Your token has expired; sign in again.', {
      cause: err,
    });
  const why =
    err instanceof errors.JWTClaimValidationFailed
      ? (wrongClaims[err.claim] ?? 'a claim is wrong')
      : err instanceof errors.JOSEAlgNotAllowed
        ? 'it is not signed in a way that is accepted here'
        : err instanceof errors.JWKSNoMatchingKey
          ? 'it is signed with a key that the issuer does not name'
          : 'it is not signed by the issuer';
  return invalid(why, err);
}

const invalid = (why: string, cause: unknown): Refusal =>
  new Refusal('unauthenticated', 'auth.token-refused', `The token is not valid here: ${why}. Sign in again.`, {
    cause,
  });

const unknowable = (cause: unknown): unknown =>
  cause instanceof DevelopmentIssuer
    ? new Refusal(
        'unavailable',
        'auth.development-issuer',
        'The issuer of tokens is one for development. The operator must set another.',
        { cause },
      )
    : new Refusal(
        'unavailable',
        'auth.issuer-unavailable',
        'Your token cannot be checked at the moment, as the issuer does not answer. Try again shortly.',
        { cause },
      );
