import { consumerName, STREAM } from '@holdpoint/contracts';
import { type Bus, type RawMessage, StreamReader } from '@holdpoint/eventing';
import { Unavailable } from '@holdpoint/runtime';
import type { StreamMessage } from './log-writer.js';

/** Durable consumer that hands out every message of the stream; the provisioner made it. */
export const CONSUMER = consumerName('audit', '>');

export interface StreamState {
  /** Last sequence that the stream has given out, whether or not it still holds the message. */
  lastSeq: number;
  /** Up to here the consumer has handed messages out, to us or to somebody before us. */
  handedOut: number;
}

/** Only the broker writes these; on a stored message they are the mark of a forged one (charter, section 2). */
const BROKER_HEADERS = new Set(['nats-stream', 'nats-subject']);

export function toStreamMessage({ headers, ...message }: RawMessage): StreamMessage {
  return { ...message, brokerHeaders: headers?.keys().some((k) => BROKER_HEADERS.has(k.toLowerCase())) ?? false };
}

/**
 * The stream as the audit may read it: single messages by sequence, as they are, readable or not.
 * Everything here throws Unavailable when the stream gives no answer.
 */
export class Stream {
  readonly #reader: StreamReader;

  constructor(private readonly bus: Bus) {
    this.#reader = new StreamReader(bus);
  }

  /**
   * The first message at or after `seq`. A later one proves that nothing is stored in between; null may also mean that the
   * replica that answered is behind.
   */
  async from(seq: number): Promise<StreamMessage | null> {
    const found = await this.#reader.nextRaw(seq);
    return found && toStreamMessage(found);
  }

  /** The message at `seq`, or null when the stream does not hold it (any more). */
  async at(seq: number): Promise<StreamMessage | null> {
    const found = await this.#reader.rawBySeq(seq);
    return found && toStreamMessage(found);
  }

  async state(): Promise<StreamState> {
    try {
      const { delivered, num_pending } = await this.bus.request(() => this.bus.jsm.consumers.info(STREAM, CONSUMER));
      return { handedOut: delivered.stream_seq, lastSeq: delivered.stream_seq + num_pending };
    } catch (cause) {
      throw new Unavailable('the stream does not tell where it stands', { cause });
    }
  }
}
