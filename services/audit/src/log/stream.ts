import { consumerName, STREAM } from '@holdpoint/contracts';
import type { Bus } from '@holdpoint/eventing';
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

export type Headers = Iterable<[string, string[]]> | undefined;
const BROKER_HEADERS = ['nats-stream', 'nats-subject'];

/** Whether a stored message bears headers that only the broker writes (charter, section 2), beyond the `own` ones of a Direct Get. */
export function hasBrokerHeaders(headers: Headers, own = 0): boolean {
  const count = new Map<string, number>();
  for (const [key, values] of headers ?? []) {
    const name = key.toLowerCase();
    count.set(name, (count.get(name) ?? 0) + values.length);
  }
  return BROKER_HEADERS.some((name) => (count.get(name) ?? 0) > own);
}

/**
 * The stream as the audit may read it: single messages by sequence, as they are, readable or not.
 * Everything here throws Unavailable when the stream gives no answer.
 */
export class Stream {
  constructor(private readonly bus: Bus) {}

  /**
   * The first message at or after `seq`. A later one proves that nothing is stored in between; null may also mean that the
   * replica that answered is behind.
   */
  async from(seq: number): Promise<StreamMessage | null> {
    try {
      const found = await this.bus.jsm.direct.getMessage(STREAM, { seq, next_by_subj: '>' });
      if (!found) return null;
      return {
        seq: found.seq,
        subject: found.subject,
        time: found.time,
        bytes: found.data,
        brokerHeaders: hasBrokerHeaders(found.header, 1),
      };
    } catch (cause) {
      throw new Unavailable('the stream gave no answer', { cause });
    }
  }

  /** The message at `seq`, or null when the stream does not hold it (any more). */
  async at(seq: number): Promise<StreamMessage | null> {
    const found = await this.from(seq);
    return found?.seq === seq ? found : null;
  }

  async state(): Promise<StreamState> {
    try {
      const info = await this.bus.jsm.consumers.info(STREAM, CONSUMER);
      const handedOut = info.delivered.stream_seq;
      return { handedOut, lastSeq: handedOut + info.num_pending };
    } catch (cause) {
      throw new Unavailable('the stream does not tell where it stands', { cause });
    }
  }
}
