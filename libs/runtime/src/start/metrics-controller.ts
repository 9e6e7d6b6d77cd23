import { Controller, Get, Header } from '@nestjs/common';
import { Public } from '../auth/routes.js';
import { METRICS_CONTENT_TYPE, metricsText } from '../metrics.js';

@Controller()
export class MetricsController {
  #running: Promise<string> | undefined;

  /** Counts and ages, never content, names or ids. Anybody may ask, so many askers share one look. */
  @Get('metrics')
  @Public()
  @Header('content-type', METRICS_CONTENT_TYPE)
  metrics(): Promise<string> {
    this.#running ??= metricsText().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }
}
