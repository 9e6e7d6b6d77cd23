import { Bus, connectBus } from '@holdpoint/eventing';
import { DATABASE, DatabaseModule, Keyring, MasterKey, registerGauge } from '@holdpoint/runtime';
import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { type AuditConfig, CONFIG } from './config.js';
import { OnEveryEvent } from './consumers/on-every-event.js';
import { AnalysisController } from './http/analysis.controller.js';
import { ChainsController } from './http/chains.controller.js';
import { CheckpointsController } from './http/checkpoints.controller.js';
import { EntriesController } from './http/entries.controller.js';
import { EventsController } from './http/events.controller.js';
import { ExportController, KEYRING } from './http/export.controller.js';
import { PositionController } from './http/position.controller.js';
import { ProofsController } from './http/proofs.controller.js';
import { ReceiptsController } from './http/receipts.controller.js';
import { Content } from './log/content.js';
import { Stream } from './log/stream.js';
import { Tail } from './log/tail.js';
import { Analysis } from './store/analysis.js';
import { AuditLog } from './store/audit-log.js';
import { EventLog } from './store/event-log.js';
import { positionOf } from './store/position.js';
import { RunReceipts } from './store/run-receipts.js';
import type { Database } from './store/schema.js';
import { Watch } from './watch/watch.js';

/** The service publishes nothing and has no outbox, so it needs the bus alone. */
@Module({})
export class AuditModule implements OnApplicationShutdown {
  readonly #unregister: () => void;

  constructor(
    private readonly bus: Bus,
    @Inject(DATABASE) db: Kysely<Database>,
    stream: Stream,
  ) {
    this.#unregister = registerGauge(
      'holdpoint_audit_lag',
      'Events of the stream that are not logged yet',
      [],
      async () => {
        const logged = (await positionOf(db))?.lastSeq ?? 0;
        return [{ value: Math.max(0, (await stream.state()).lastSeq - logged) }];
      },
    );
  }

  static forRoot(config: AuditConfig): DynamicModule {
    const database = { max: config.DATABASE_POOL_MAX, applicationName: 'audit' };
    const store = <T>(Store: new (db: Kysely<Database>) => T) => ({
      provide: Store,
      useFactory: (db: Kysely<Database>) => new Store(db),
      inject: [DATABASE],
    });
    return {
      module: AuditModule,
      imports: [DatabaseModule.forRoot(config.DATABASE_URL, database)],
      controllers: [
        EntriesController,
        ReceiptsController,
        ChainsController,
        PositionController,
        AnalysisController,
        EventsController,
        CheckpointsController,
        ProofsController,
        ExportController,
      ],
      providers: [
        { provide: CONFIG, useValue: config },
        {
          provide: Bus,
          useFactory: () =>
            connectBus({
              servers: config.NATS_URL,
              user: config.NATS_USER,
              pass: config.NATS_PASSWORD,
              name: 'audit',
            }),
        },
        { provide: Stream, useFactory: (bus: Bus) => new Stream(bus), inject: [Bus] },
        store(EventLog),
        store(AuditLog),
        store(Analysis),
        store(RunReceipts),
        {
          provide: Content,
          useFactory: (log: EventLog, keyring: Keyring | null) => new Content(log, keyring),
          inject: [EventLog, KEYRING],
        },
        { provide: KEYRING, useFactory: (db: Kysely<Database>) => keyringOf(config, db), inject: [DATABASE] },
        Tail,
        Watch,
        OnEveryEvent,
      ],
    };
  }

  onApplicationShutdown(): Promise<void> {
    this.#unregister();
    return this.bus.close();
  }
}

function keyringOf({ HOLDPOINT_MASTER_KEY_FILE: path }: AuditConfig, db: Kysely<Database>): Keyring | null {
  return path === undefined ? null : new Keyring(db, MasterKey.fromFile(path));
}
