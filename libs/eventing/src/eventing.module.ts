import type { ServiceName } from '@holdpoint/contracts';
import { type BaseConfig, DATABASE, registerHealth } from '@holdpoint/runtime';
import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common';
import { Bus, connectBus } from './bus.js';
import { DeadLettersController, SERVICE } from './dead-letters.controller.js';
import type { AnyDatabase } from './event-context.js';
import { FactWaiter } from './fact-waiter.js';
import { JetStreamServer, type JetStreamServerOptions } from './jetstream-server.js';
import { Outbox } from './outbox.js';
import { OutboxRelay } from './outbox-relay.js';
import { EventPublisher } from './publisher.js';
import { StreamReader } from './stream-reader.js';

export interface EventingOptions
  extends Pick<JetStreamServerOptions, 'service' | 'concurrency' | 'attempts' | 'retryMs'> {
  config: Pick<BaseConfig, 'DATABASE_URL' | 'NATS_URL' | 'NATS_USER' | 'NATS_PASSWORD'>;
}

const PROVIDED = [Bus, StreamReader, EventPublisher, FactWaiter, Outbox, OutboxRelay, JetStreamServer];

/**
 * Everything of this package for a service, to be injected by class, and the routes under `/v1/dead-letters`. Needs
 * runtime's `DATABASE`. Runs the relay from
 * bootstrap to shutdown and reports bus, relay and consumers to readiness. Handlers run once the service starts the
 * transport: `startService({ …, strategy: (app) => app.get(JetStreamServer) })`.
 */
@Module({})
export class EventingModule implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #unregister: (() => void)[] = [];

  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(OutboxRelay) private readonly relay: OutboxRelay,
    @Inject(FactWaiter) private readonly waiter: FactWaiter,
    @Inject(JetStreamServer) private readonly server: JetStreamServer,
  ) {}

  static forRoot(options: EventingOptions): DynamicModule {
    return {
      module: EventingModule,
      global: true,
      controllers: [DeadLettersController],
      providers: [...providers(options), { provide: SERVICE, useValue: options.service }],
      exports: PROVIDED,
    };
  }

  onApplicationBootstrap(): void {
    this.relay.start();
    this.#unregister.push(
      registerHealth('bus', () => this.bus.nc.rtt().then(() => undefined)),
      registerHealth('outbox', () => this.relay.check()),
      registerHealth('consumers', async () => this.server.check()),
    );
  }

  /** The transport was closed before: nothing is being handled any more. */
  async onApplicationShutdown(): Promise<void> {
    for (const unregister of this.#unregister) unregister();
    this.waiter.close();
    await this.relay.stop();
    await this.bus.close();
  }
}

const providers = ({ config, ...server }: EventingOptions): Provider[] => [
  {
    provide: Bus,
    useFactory: () =>
      connectBus({
        servers: config.NATS_URL,
        user: config.NATS_USER,
        pass: config.NATS_PASSWORD,
        name: server.service satisfies ServiceName,
      }),
  },
  { provide: StreamReader, inject: [Bus], useFactory: (bus: Bus) => new StreamReader(bus) },
  {
    provide: EventPublisher,
    inject: [Bus, StreamReader],
    useFactory: (bus: Bus, reader: StreamReader) => new EventPublisher(bus, reader),
  },
  {
    provide: FactWaiter,
    inject: [Bus, StreamReader],
    useFactory: (bus: Bus, reader: StreamReader) => new FactWaiter(bus, reader),
  },
  { provide: Outbox, useFactory: () => new Outbox(server.service) },
  {
    provide: OutboxRelay,
    inject: [EventPublisher],
    useFactory: (publisher: EventPublisher) =>
      new OutboxRelay({ service: server.service, databaseUrl: config.DATABASE_URL, publisher }),
  },
  {
    provide: JetStreamServer,
    inject: [Bus, DATABASE, OutboxRelay],
    useFactory: (bus: Bus, db: AnyDatabase, relay: OutboxRelay) =>
      new JetStreamServer({ ...server, bus, db, committed: () => relay.poke() }),
  },
];
