import type { ServiceName } from '@holdpoint/contracts';
import { type BaseConfig, DATABASE, registerGauge, registerHealth, TableGauges } from '@holdpoint/runtime';
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
import { StreamGuard } from './stream-guard.js';
import { StreamReader } from './stream-reader.js';

export interface EventingOptions
  extends Pick<JetStreamServerOptions, 'service' | 'concurrency' | 'attempts' | 'retryMs'> {
  config: Pick<BaseConfig, 'DATABASE_URL' | 'NATS_URL' | 'NATS_USER' | 'NATS_PASSWORD'>;
}

const tableGauges = TableGauges.of(
  {
    name: 'holdpoint_outbox_unsent',
    help: 'Committed events that are not in the stream yet',
    query: 'SELECT count(*) AS value FROM outbox WHERE sent_at IS NULL AND failed IS NULL',
  },
  {
    name: 'holdpoint_outbox_age_seconds',
    help: 'Age of the oldest committed event that is not in the stream yet',
    query: `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS value
      FROM outbox WHERE sent_at IS NULL AND failed IS NULL`,
  },
  {
    name: 'holdpoint_outbox_failed',
    help: 'Committed events that can never be published; a person has to look',
    query: 'SELECT count(*) AS value FROM outbox WHERE failed IS NOT NULL',
  },
  {
    name: 'holdpoint_dead_letters',
    help: 'Deliveries that could not be handled, by state',
    labels: ['state'],
    query: 'SELECT state, count(*) AS value FROM dead_letters GROUP BY state',
  },
);

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
    @Inject(StreamGuard) private readonly guard: StreamGuard,
  ) {}

  static forRoot(options: EventingOptions): DynamicModule {
    return {
      module: EventingModule,
      global: true,
      imports: [tableGauges],
      controllers: [DeadLettersController],
      providers: [...providers(options), { provide: SERVICE, useValue: options.service }],
      exports: PROVIDED,
    };
  }

  onApplicationBootstrap(): void {
    this.relay.start();
    this.#unregister.push(
      registerHealth('bus', () => this.bus.nc.rtt().then(() => undefined)),
      registerHealth('stream', async () => this.guard.check()),
      registerHealth('outbox', () => this.relay.check()),
      registerHealth('consumers', async () => this.server.check()),
      registerGauge(
        'holdpoint_consumer_lag',
        'Events that a consumer has not been handed yet',
        ['consumer'],
        async () => (await this.server.backlog()).map(({ consumer, lag }) => ({ labels: { consumer }, value: lag })),
      ),
      registerGauge(
        'holdpoint_consumer_pending',
        'Events that a consumer was handed and has not acknowledged',
        ['consumer'],
        async () =>
          (await this.server.backlog()).map(({ consumer, pending }) => ({ labels: { consumer }, value: pending })),
      ),
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
    provide: StreamGuard,
    inject: [Bus, StreamReader, DATABASE],
    useFactory: (bus: Bus, reader: StreamReader, db: AnyDatabase) => new StreamGuard(bus, reader, db),
  },
  {
    provide: EventPublisher,
    inject: [Bus, StreamReader, StreamGuard],
    useFactory: (bus: Bus, reader: StreamReader, guard: StreamGuard) => new EventPublisher(bus, reader, guard),
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
