/** A signed note on its way out of the database. */
export interface Published {
  kind: 'checkpoint' | 'key';
  note: string;
}

/** Where checkpoints go, so that somebody who can change the database cannot change them as well. */
export interface Outlet {
  readonly name: string;
  /** The last checkpoint that it took; null when it has none. @throws Unavailable */
  latest(): Promise<string | null>;
  /** All that it took, in order. */
  all(): AsyncIterable<Published>;
  /** Resolves once it holds it for good. */
  put(published: Published): Promise<void>;
}
