import type { MsgHdrs } from '@nats-io/nats-core';
import type { Bus } from './bus.js';

export interface RawMessage {
  seq: number;
  subject: string;
  time: Date;
  bytes: Uint8Array;
  headers: MsgHdrs | undefined;
}

export interface BatchConsumerOptions {
  bus: Bus;
  /** Durable name, as contracts' `consumerName(service, pattern)` gives it. */
  consumer: string;
  /** Most messages in one batch. Default 500. */
  max?: number;
}

export interface BatchConsumer {
  /** Resolves when the batch in hand is through and nothing more will be delivered. */
  stop(): Promise<void>;
}

export function consumeBatches(
  _options: BatchConsumerOptions,
  _onBatch: (batch: RawMessage[]) => Promise<void>,
): BatchConsumer {
  throw new Error('being written');
}
