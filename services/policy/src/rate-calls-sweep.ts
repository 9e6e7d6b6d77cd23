import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { RateCalls } from './store/rate-calls.js';

const HOUR_MS = 3_600_000;

/** Forgets counted calls that no limit looks back to. Any number of instances may; a sweep that fails is made up for by the next. */
export class RateCallsSweep implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #log = new Logger('RateCallsSweep');
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly calls: RateCalls) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.#sweep(), HOUR_MS).unref();
    void this.#sweep();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  async #sweep(): Promise<void> {
    await this.calls
      .forget()
      .catch((err: Error) => this.#log.warn(`old counted calls are kept for now: ${err.message}`));
  }
}
