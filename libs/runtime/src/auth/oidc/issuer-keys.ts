import { Logger } from '@nestjs/common';
import { createLocalJWKSet, errors, type FlattenedJWSInput, type JWSHeaderParameters } from 'jose';
import { Unavailable } from '../../faults.js';
import { fetchIssuerDocuments, type IssuerDocuments } from './issuer-documents.js';

/** After so long the keys are fetched anew, so that one which the issuer took back is not trusted for ever. */
const REFRESH_MS = 5 * 60_000;
/** An issuer that is silent for so long vouches for nobody any more. */
const TRUSTED_MS = 24 * 3_600_000;
/** Between two fetches that a key nobody knows brings about: whoever makes keys up cannot have the issuer flooded. */
const COOLDOWN_MS = 10_000;
const RETRY_MS = 1_000;

export interface IssuerKeysOptions {
  issuer: string;
  jwksUrl?: string | undefined;
  /** Whether a development issuer is one to trust. */
  development: boolean;
  now?: () => number;
}

/** The issuer marks itself as one for development, and this is no development. */
export class DevelopmentIssuer extends Error {
  override readonly name = 'DevelopmentIssuer';
}

/**
 * The issuer's public keys. What is at hand goes on working while the issuer is down; a key that is not at hand is looked
 * for there, and while that cannot be done nobody can say whether it is the issuer's.
 */
export class IssuerKeys {
  readonly #log = new Logger('Issuer');
  readonly #options: IssuerKeysOptions;
  readonly #now: () => number;
  #known: { find: ReturnType<typeof createLocalJWKSet>; at: number } | undefined;
  #fetching: Promise<void> | undefined;
  #lastTry = { at: Number.NEGATIVE_INFINITY, failed: false };

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** @throws Unavailable, or DevelopmentIssuer */
  fetch(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  /**
   * The key that a token says it is signed with.
   * @throws Unavailable when that cannot be known now; DevelopmentIssuer; jose's JWKSNoMatchingKey when there is none
   */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput) => {
    const age = this.#known === undefined ? Number.POSITIVE_INFINITY : this.#now() - this.#known.at;
    if (age > TRUSTED_MS) await this.#fetchUnlessJustTried();
    else if (age > REFRESH_MS && this.#mayTry()) this.fetch().catch(() => undefined);
    try {
      return await this.#findKnown(header, token);
    } catch (err) {
      if (!(err instanceof errors.JWKSNoMatchingKey)) throw err;
      if (!this.#lastTry.failed && !this.#mayTry()) throw err;
      await this.#fetchUnlessJustTried();
      return this.#findKnown(header, token);
    }
  };

  #findKnown(header: JWSHeaderParameters, token: FlattenedJWSInput) {
    if (this.#known === undefined) throw new Unavailable(`no keys of ${this.#options.issuer} are known yet`);
    return this.#known.find(header, token);
  }

  #mayTry(): boolean {
    return this.#now() - this.#lastTry.at >= (this.#lastTry.failed ? RETRY_MS : COOLDOWN_MS);
  }

  async #fetchUnlessJustTried(): Promise<void> {
    if (this.#fetching === undefined && !this.#mayTry())
      throw new Unavailable(`${this.#options.issuer} gave no usable answer a moment ago`);
    await this.fetch();
  }

  async #fetch(): Promise<void> {
    const { issuer, jwksUrl, development } = this.#options;
    let documents: IssuerDocuments;
    try {
      documents = await fetchIssuerDocuments(issuer, jwksUrl);
      this.#lastTry = { at: this.#now(), failed: false };
    } catch (err) {
      this.#lastTry = { at: this.#now(), failed: true };
      this.#log.warn(`the keys of the issuer cannot be fetched: ${(err as Error).message}`);
      throw err;
    }
    if (documents.isDevelopment && !development) {
      this.#known = undefined;
      this.#lastTry.failed = true;
      throw new DevelopmentIssuer(
        `${issuer} is an issuer for development: anybody can sign in there as anybody. Set OIDC_ISSUER to your own, or HOLDPOINT_DEV=1 for a trial`,
      );
    }
    this.#known = { find: createLocalJWKSet(documents.keys), at: this.#now() };
  }
}
