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

/** Wakes the one who waits, or the next who will: a call that comes too early is not lost. */
export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Whether it was rung since the last answer; asked at once, or after at most `ms`. */
  async heard(ms = 0): Promise<boolean> {
    if (!this.#rung && ms > 0)
      await new Promise<void>((resolve) => {
        const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : undefined;
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    this.#wake = undefined;
    const was = this.#rung;
    this.#rung = false;
    return was;
  }
}
