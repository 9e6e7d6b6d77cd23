import { type EventType, STREAM, type ServiceName, subjectFor, topology } from '@holdpoint/contracts';
import { Unavailable } from '@holdpoint/runtime';
import type { StoredMsg } from '@nats-io/jetstream';
import { Bus } from './bus.js';
import { type RawMessage, refuseBrokerHeaders, type Stored, toStored } from './stored.js';

/**
 * Reads single events from the stream. Services with the right to it (`readsLeader` in contracts' topology) read from
 * the stream's leader: what is stored is seen. The others use Direct Get, which a replica may answer that is a moment
 * behind, and see their own prefixes only.
 * Everything here throws Unavailable when the stream gives no answer, which says nothing about what is stored, and
 * InvalidEvent when what is stored is not an event that its subject allows.
 */
export class StreamReader {
  readonly #leader: boolean;

  constructor(private readonly bus: Bus) {
    this.#leader = topology[bus.name as ServiceName]?.readsLeader ?? false;
  }

  /** The latest event of this type about the entity, or null when there is none. */
  async last<T extends EventType>(type: T, spaceId: string, entityId: string): Promise<Stored<T> | null> {
    const raw = await this.lastRaw(subjectFor(type, spaceId, entityId));
    return raw && (toStored(raw) as Stored<T>);
  }

  /** The event at a sequence, or null when the stream does not hold it (any more). */
  async bySeq(seq: number): Promise<Stored | null> {
    const raw = await this.rawBySeq(seq);
    return raw && toStored(raw);
  }

  lastRaw(subject: string): Promise<RawMessage | null> {
    return this.#get({ last_by_subj: subject });
  }

  rawBySeq(seq: number): Promise<RawMessage | null> {
    return this.#get({ seq });
  }

  /**
   * The first message at or after a sequence. One replica answers from one state, so that an answer beyond `seq` proves
   * that nothing is stored in between; null may also mean that the replica is behind.
   */
  nextRaw(seq: number): Promise<RawMessage | null> {
    return this.#get({ seq, next_by_subj: '>' });
  }

  async #get(query: { last_by_subj: string } | { seq: number; next_by_subj?: string }): Promise<RawMessage | null> {
    const api = this.#leader ? this.bus.jsm.streams : this.bus.jsm.direct;
    let found: StoredMsg | null;
    try {
      found = await api.getMessage(STREAM, query as { seq: number });
    } catch (cause) {
      throw new Unavailable('the stream gave no answer', { cause });
    }
    if (!found) return null;
    // Direct Get adds the broker's headers once; a second one was stored with the message.
    refuseBrokerHeaders(found.header, this.#leader ? 0 : 1);
    const { seq, subject, time, data, header } = found;
    return { seq, subject, time, bytes: data, headers: header };
  }
}
