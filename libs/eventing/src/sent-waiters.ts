import { Unavailable } from '@holdpoint/runtime';
import type { Settled } from './outbox-store.js';
import { Unpublishable } from './publisher.js';

const REMEMBERED = 4_096;

interface Waiter {
  resolve(seq: number): void;
  reject(error: Error): void;
}

/** Those who wait for an event to be stored, and the events that were stored a moment ago. */
export class SentWaiters {
  readonly #waiting = new Map<string, Set<Waiter>>();
  readonly #recent = new Map<string, number>();

  wait(eventId: string, timeoutMs: number): Promise<number> {
    const seq = this.#recent.get(eventId);
    if (seq !== undefined) return Promise.resolve(seq);
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        const others = this.#waiting.get(eventId);
        others?.delete(waiter);
        if (others?.size === 0) this.#waiting.delete(eventId);
      };
      const waiter: Waiter = {
        resolve: (at) => {
          end();
          resolve(at);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      const timer = setTimeout(
        () => waiter.reject(new Unavailable(`event ${eventId} was not stored within ${timeoutMs} ms`)),
        timeoutMs,
      );
      this.#waiting.set(eventId, (this.#waiting.get(eventId) ?? new Set()).add(waiter));
    });
  }

  get eventIds(): string[] {
    return [...this.#waiting.keys()];
  }

  settle({ eventId, seq, failed }: Settled): void {
    if (seq !== null) this.#remember(eventId, seq);
    for (const waiter of [...(this.#waiting.get(eventId) ?? [])])
      if (seq !== null) waiter.resolve(seq);
      else waiter.reject(new Unpublishable(failed ?? `event ${eventId} cannot be published`));
  }

  rejectAll(error: Error): void {
    for (const waiters of [...this.#waiting.values()]) for (const waiter of [...waiters]) waiter.reject(error);
  }

  #remember(eventId: string, seq: number): void {
    this.#recent.set(eventId, seq);
    if (this.#recent.size > REMEMBERED) this.#recent.delete(this.#recent.keys().next().value as string);
  }
}
