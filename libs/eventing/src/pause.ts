import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after `ms`, or at once when the signal is aborted. */
export async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await delay(Math.max(0, ms), undefined, { signal }).catch(() => undefined);
}

/** Waiting times that double from 250 ms to 5 s while faults follow each other. */
export class Backoff {
  #ms = 0;

  next(): number {
    this.#ms = Math.min(Math.max(2 * this.#ms, 250), 5_000);
    return this.#ms;
  }

  reset(): void {
    this.#ms = 0;
  }
}
