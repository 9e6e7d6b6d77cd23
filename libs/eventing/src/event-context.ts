import type { Transaction } from 'kysely';

/** What a handler knows of the delivery besides the event itself. */
export interface EventContext {
  readonly seq: number;
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly streamTime: Date;
  readonly deliveries: number;
  // biome-ignore lint/suspicious/noExplicitAny: any service's schema
  once(fn: (tx: Transaction<any>) => Promise<void>): Promise<boolean>;
}

export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  constructor(readonly ms: number) {
    super(`again in ${ms} ms`);
  }
}

export class Discard extends Error {
  override readonly name = 'Discard';
}
