/** What a refusal means to its caller; the problem filter alone knows the HTTP status of each. */
export type RefusalKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'gone'
  | 'too-large'
  | 'unavailable'
  | 'unprocessable';

export interface FieldError {
  /** Path of the field, such as `work.prompt`. */
  field: string;
  message: string;
}

export interface RefusalOptions {
  /** Further members of the problem, such as who decided and when. They never replace a standard member. */
  extras?: Record<string, unknown>;
  errors?: FieldError[];
  /** Kept inside and logged, never sent. */
  cause?: unknown;
}

/**
 * "No", said on purpose. `code` is stable and dotted (`staging.call-closed`); `detail` is a sentence for the caller
 * that says what to do next, and is sent as it is: no secret, no internal cause.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly extras?: Record<string, unknown>;
  readonly errors?: FieldError[];

  constructor(
    readonly kind: RefusalKind,
    readonly code: string,
    readonly detail: string,
    options: RefusalOptions = {},
  ) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    if (options.extras !== undefined) this.extras = options.extras;
    if (options.errors !== undefined) this.errors = options.errors;
  }
}
