import { isNativeError } from 'node:util/types';
import { APICallError, InvalidResponseDataError, JSONParseError, TypeValidationError } from '@ai-sdk/provider';

/**
 * Why a round of a model came to nothing. Stable: it is the reason that a failed run carries.
 * `unavailable`: not reached, too busy, broken or too slow. `refused`: it will not do this, now or later. `cut-off`: the
 * answer ended in the middle. `garbled`: what came is not the wire format, or some of it was lost on the way.
 */
export type ModelFailureReason = 'model.unavailable' | 'model.refused' | 'model.cut-off' | 'model.garbled';

interface Circumstances {
  /** How long the endpoint asks to be left alone, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** The model may have worked, and been paid, for what was thrown away. */
  mayHaveCost: boolean;
}

/**
 * Nothing of the round was acted upon. `message` is fit for a log: it holds no word of endpoint, prompt or key.
 * `detail` is for the people of the space, may quote the endpoint, and holds no key.
 */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';

  constructor(
    readonly reason: ModelFailureReason,
    readonly detail: string,
    readonly circumstances: Circumstances,
    status?: number,
  ) {
    super(status === undefined ? reason : `${reason} (status ${status})`);
  }

  /** Asking again may help. */
  get passing(): boolean {
    return this.reason !== 'model.refused';
  }
}

const DETAIL_LIMIT = 300;
const MAX_CAUSES = 8;

/** What a provider reported, as one of ours. `scrub` takes secrets out of it where the endpoint repeats them. */
export function failureOf(error: unknown, scrub: (text: string) => string): ModelFailure {
  const own = causes(error).find((e) => e instanceof ModelFailure);
  if (own) return own;
  const quoted = (text: unknown) => quote(text, scrub);

  if (APICallError.isInstance(error)) {
    const status = error.statusCode;
    if (status !== undefined)
      return status >= 200 && status < 300
        ? cutOff()
        : ofStatus(status, quoted(error.message), error.responseHeaders ?? {});
  }
  const broken = networkCode(error);
  if (broken !== undefined || APICallError.isInstance(error)) return unreachable(broken);
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) return cutOff();
  if (
    InvalidResponseDataError.isInstance(error) ||
    JSONParseError.isInstance(error) ||
    TypeValidationError.isInstance(error)
  )
    return garbled('an answer that is not the wire format');
  // an error that the endpoint reports within a stream which had begun well
  if (typeof error === 'object' && error !== null && 'message' in error && !isNativeError(error))
    return new ModelFailure('model.unavailable', `it reported ${quoted(error.message)}`, { mayHaveCost: true });
  return garbled('an answer that could not be read');
}

export const cutOff = () => new ModelFailure('model.cut-off', 'its answer ended in the middle', { mayHaveCost: true });
export const garbled = (what: string) => new ModelFailure('model.garbled', `it gave ${what}`, { mayHaveCost: true });

/** A connection that was never made carried no work; any other may have. */
function unreachable(code: string | undefined): ModelFailure {
  const never = code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN';
  const how = code === undefined ? '' : ` (${code})`;
  return new ModelFailure('model.unavailable', `it cannot be reached${how}`, { mayHaveCost: !never });
}

const networkCode = (error: unknown): string | undefined =>
  causes(error)
    .map((e) => (e as { code?: unknown }).code)
    .find((code): code is string => typeof code === 'string' && /^(E[A-Z_]+|UND_ERR_[A-Z_]+)$/.test(code));

function ofStatus(status: number, said: string, headers: Record<string, string>): ModelFailure {
  const busy = status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
  const detail = `it answered ${status}: ${said}`;
  if (!busy) return new ModelFailure('model.refused', detail, { mayHaveCost: false }, status);
  const retryAfterMs = retryAfter(headers);
  return new ModelFailure('model.unavailable', detail, { mayHaveCost: false, retryAfterMs }, status);
}

/** Retry-After in seconds or as a date (RFC 9110, 10.2.3), or the milliseconds that some endpoints give. */
function retryAfter(headers: Record<string, string>): number | undefined {
  const milliseconds = headers['retry-after-ms'];
  if (milliseconds !== undefined && /^\d{1,9}$/.test(milliseconds)) return Number(milliseconds);
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

function quote(text: unknown, scrub: (text: string) => string): string {
  const plain = scrub(typeof text === 'string' ? text : 'nothing legible');
  return JSON.stringify(plain.length > DETAIL_LIMIT ? `${plain.slice(0, DETAIL_LIMIT)} …` : plain);
}

function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (
    let e = error;
    typeof e === 'object' && e !== null && chain.length < MAX_CAUSES;
    e = (e as { cause?: unknown }).cause
  )
    chain.push(e);
  return chain;
}
