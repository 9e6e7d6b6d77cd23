import { type EventType, type ServiceName, STREAM, subjectFor, topology } from '@holdpoint/contracts';
import { Unavailable } from '@holdpoint/runtime';
import type { StoredMsg } from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/nats-core';
import { Bus } from './bus.js';
import { type RawMessage, type Stored, toStored } from './stored.js';

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
    return raw && toStored<T>(raw);
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
      found = await this.bus.request(() => api.getMessage(STREAM, query as { seq: number }));
    } catch (cause) {
      throw new Unavailable('the stream gave no answer', { cause });
    }
    if (!found) return null;
    const { seq, subject, time, data, header } = found;
    return { seq, subject, time, bytes: data, headers: this.#leader ? header : withoutAnswerHeaders(header) };
  }
}

const ANSWER_HEADERS = [
  'Nats-Stream',
  'Nats-Subject',
  'Nats-Sequence',
  'Nats-Time-Stamp',
  'Nats-Num-Pending',
  'Nats-Last-Sequence',
];

/** Direct Get puts its own headers behind those of the message: what stands before the last of a name was stored. */
function withoutAnswerHeaders(all: MsgHdrs): MsgHdrs {
  for (const name of ANSWER_HEADERS) {
    const stored = all.values(name).slice(0, -1);
    all.delete(name);
    for (const value of stored) all.append(name, value);
  }
  return all;
}
