import { Controller, Get } from '@nestjs/common';
import { Public } from '../auth/routes.js';
import { checkHealth } from '../health.js';
import { Refusal } from '../refusal.js';
import { Phase } from './phase.js';

@Controller()
export class HealthController {
  #running: ReturnType<typeof checkHealth> | undefined;

  constructor(private readonly phase: Phase) {}

  /** 200 as long as the event loop turns; says nothing about dependencies. */
  @Get('healthz')
  @Public()
  alive() {
    return { status: 'alive' };
  }

  /** 200 when every dependency answers, else a 503 problem that names in `failing` those that do not. */
  @Get('readyz')
  @Public()
  async ready() {
    if (this.phase.now !== 'ready') throw notReady([this.phase.now]);
    // Anybody may ask, so many askers share one round of checks.
    this.#running ??= checkHealth().finally(() => {
      this.#running = undefined;
    });
    const { passing, failing } = await this.#running;
    if (failing.length > 0) throw notReady(failing);
    return { status: 'ready', checks: passing };
  }
}

const notReady = (failing: string[]): Refusal =>
  new Refusal('unavailable', 'service.not-ready', 'The service is not ready; ask again shortly.', {
    extras: { failing },
  });
