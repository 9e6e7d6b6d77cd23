import { Logger } from '@nestjs/common';
import { type BaseConfig, ConfigError } from '../../config.js';
import { Unavailable } from '../../faults.js';
import { isProtected } from './issuer-documents.js';
import { DevelopmentIssuer } from './issuer-keys.js';
import { TokenVerifier } from './token-verifier.js';

export type OidcConfig = Partial<Pick<BaseConfig, 'OIDC_ISSUER' | 'OIDC_AUDIENCE' | 'OIDC_JWKS_URL' | 'HOLDPOINT_DEV'>>;

/**
 * What checks people's tokens, or undefined when no issuer is set: then people are whom the identity file names. An issuer
 * that is down at start is no reason not to start; one for development is, unless this is development.
 * @throws ConfigError
 */
export async function openTokenVerifier(config: OidcConfig): Promise<TokenVerifier | undefined> {
  const { OIDC_ISSUER: issuer, OIDC_AUDIENCE: audience, OIDC_JWKS_URL: jwksUrl } = config;
  if (issuer === undefined) return undefined;
  const wrong = new Map<string, string>();
  if (audience === undefined)
    wrong.set('OIDC_AUDIENCE', 'is not set: with OIDC_ISSUER it must name for whom tokens are');
  for (const [name, url] of Object.entries({ OIDC_ISSUER: issuer, OIDC_JWKS_URL: jwksUrl }))
    if (url !== undefined && !isProtected(url))
      wrong.set(name, 'is not valid: it must be https, or http on this machine');
  if (audience === undefined || wrong.size > 0) throw new ConfigError(wrong);

  const verifier = new TokenVerifier({ issuer, audience, jwksUrl, development: config.HOLDPOINT_DEV === '1' });
  try {
    await verifier.prepare();
  } catch (err) {
    if (err instanceof DevelopmentIssuer)
      throw new ConfigError(new Map([['OIDC_ISSUER', `is not valid: ${err.message}`]]));
    if (!(err instanceof Unavailable)) throw err;
    new Logger('Issuer').warn('starting without the keys of the issuer: people cannot sign in until it answers');
  }
  return verifier;
}
