import type { ServiceName } from '@holdpoint/contracts';
import type { DynamicModule } from '@nestjs/common';

export interface EventingConfig {
  DATABASE_URL: string;
  NATS_URL: string;
  NATS_USER: string;
  NATS_PASSWORD: string;
}

export interface EventingOptions {
  service: ServiceName;
  config: EventingConfig;
  /** Events handled at once by each consumer. Default 16. */
  concurrency?: number;
}

/** The injection token of {@link Bus}. */
export const BUS = Symbol('holdpoint.bus');

export class EventingModule {
  static forRoot(_options: EventingOptions): DynamicModule {
    throw new Error('being written');
  }
}
