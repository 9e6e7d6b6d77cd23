import { type EventType, type ServiceName, subjectFor, topology } from '@holdpoint/contracts';
import { isInfrastructureFault } from '@holdpoint/runtime';
import type { Subscription } from '@nats-io/nats-core';
import { Bus } from './bus.js';
import { Bell } from './pause.js';
import type { Stored } from './stored.js';
import { StreamReader } from './stream-reader.js';

const FIRST_POLL_MS = 250;
const LONGEST_POLL_MS = 1_000;
/** A live message may arrive before the stream has stored it. */
const AFTER_HINT_MS = 5;

/**
 * Waits until a fact is stored. The live message on its subject is only a hint that it may be worth looking; what is
 * returned was read back from the stream.
 */
export class FactWaiter {
  readonly #subscriptions: Subscription[];
  readonly #waiting = new Map<string, Set<Bell>>();

  constructor(
    bus: Bus,
    private readonly reader: StreamReader,
  ) {
    this.#subscriptions = (topology[bus.name as ServiceName]?.hints ?? []).map((pattern) =>
      bus.nc.subscribe(pattern, {
        callback: (_err, message) => {
          for (const bell of this.#waiting.get(message.subject) ?? []) bell.ring();
        },
      }),
    );
  }

  /**
   * Null when the fact was not stored at the last look, which happens after `timeoutMs`.
   * @throws Unavailable when the last look gave no answer: then nothing is known
   * @throws the signal's reason when aborted
   */
  async waitFor<T extends EventType>(
    type: T,
    spaceId: string,
    entityId: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Stored<T> | null> {
    const end = performance.now() + timeoutMs;
    const subject = subjectFor(type, spaceId, entityId);
    const bell = new Bell();
    const bells = this.#waiting.get(subject) ?? new Set();
    this.#waiting.set(subject, bells.add(bell));
    const onAbort = () => bell.ring();
    signal?.addEventListener('abort', onAbort);
    try {
      for (let poll = FIRST_POLL_MS; ; poll = Math.min(2 * poll, LONGEST_POLL_MS)) {
        signal?.throwIfAborted();
        const last = performance.now() >= end;
        const found = await this.reader.last(type, spaceId, entityId).catch((err) => {
          if (last || !isInfrastructureFault(err)) throw err;
          return null;
        });
        if (found || last) return found;
        if (await bell.heard(Math.min(poll, end - performance.now()))) poll = AFTER_HINT_MS;
      }
    } finally {
      signal?.removeEventListener('abort', onAbort);
      bells.delete(bell);
      if (bells.size === 0) this.#waiting.delete(subject);
    }
  }

  close(): void {
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }
}
