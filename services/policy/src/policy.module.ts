import { EventingModule, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { DATABASE, DatabaseModule, Keyring, MasterKey } from '@holdpoint/runtime';
import { type DynamicModule, Logger, Module, type OnModuleInit } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { loadRules, type PolicyConfig } from './config.js';
import { OnToolAnnounced } from './consumers/on-tool-announced.js';
import { OnToolProposed } from './consumers/on-tool-proposed.js';
import { ContentInspector } from './content-inspector.js';
import { Halts } from './halts.js';
import { AdviceController } from './http/advice.controller.js';
import { CHECK_VALID_MS, CheckController } from './http/check.controller.js';
import { HaltsController } from './http/halts.controller.js';
import { MembershipsController } from './http/memberships.controller.js';
import { RulesController } from './http/rules.controller.js';
import { InternalSpacePolicyController, SpacePolicyController } from './http/space-policy.controller.js';
import { SpaceRulesController } from './http/space-rules.controller.js';
import { SpaceToolsController } from './http/space-tools.controller.js';
import { SpacesController } from './http/spaces.controller.js';
import { Policy } from './policy.js';
import { PolicyChanges } from './policy-changes.js';
import { RateCallsSweep } from './rate-calls-sweep.js';
import { SpacePreferences } from './space-preferences.js';
import { SpaceRules } from './space-rules.js';
import { SpaceTools } from './space-tools.js';
import { Spaces } from './spaces.js';
import { Decisions } from './store/decisions.js';
import { DecisionsDatabase } from './store/decisions-database.js';
import { RateCalls } from './store/rate-calls.js';
import type { PolicyDatabase } from './store/schema.js';
import { SpacePolicyReader } from './store/space-policy-reader.js';

@Module({})
export class PolicyModule implements OnModuleInit {
  readonly #log = new Logger('Policy');

  constructor(
    private readonly policy: Policy,
    private readonly inspector: ContentInspector,
  ) {}

  /** @throws when holdpoint.yaml or the master key is wrong; the text names the file and what is wrong. */
  static forRoot(config: PolicyConfig): DynamicModule {
    const rules = loadRules(config);
    const keyFile = config.HOLDPOINT_MASTER_KEY_FILE;
    const master = keyFile === undefined ? null : MasterKey.fromFile(keyFile);
    return {
      module: PolicyModule,
      imports: [
        DatabaseModule.forRoot(config.DATABASE_URL, { max: config.DATABASE_POOL_MAX, applicationName: 'policy' }),
        EventingModule.forRoot({ service: 'policy', config }),
      ],
      controllers: [
        OnToolProposed,
        OnToolAnnounced,
        CheckController,
        AdviceController,
        RulesController,
        SpacesController,
        MembershipsController,
        SpacePolicyController,
        InternalSpacePolicyController,
        SpaceRulesController,
        SpaceToolsController,
        HaltsController,
      ],
      providers: [
        {
          provide: Policy,
          inject: [SpacePolicyReader],
          useFactory: (reader: SpacePolicyReader) => new Policy(rules, reader),
        },
        { provide: CHECK_VALID_MS, useValue: config.CHECK_VALID_MS },
        {
          provide: ContentInspector,
          inject: [DATABASE],
          useFactory: (db: Kysely<PolicyDatabase>) =>
            new ContentInspector(master === null ? null : new Keyring(db, master)),
        },
        {
          provide: Decisions,
          inject: [DATABASE],
          useFactory: (db: Kysely<PolicyDatabase>) => new Decisions(db),
        },
        {
          provide: RateCalls,
          inject: [DATABASE],
          useFactory: (db: Kysely<PolicyDatabase>) => new RateCalls(db),
        },
        { provide: RateCallsSweep, inject: [RateCalls], useFactory: (calls: RateCalls) => new RateCallsSweep(calls) },
        {
          provide: DecisionsDatabase,
          useFactory: () => new DecisionsDatabase(config.DECISIONS_DATABASE_URL, config.DATABASE_POOL_MAX),
        },
        {
          provide: SpacePolicyReader,
          inject: [DecisionsDatabase],
          useFactory: (decisions: DecisionsDatabase) => new SpacePolicyReader(decisions),
        },
        {
          provide: PolicyChanges,
          inject: [DATABASE, Outbox, OutboxRelay],
          useFactory: (db: Kysely<PolicyDatabase>, outbox: Outbox, relay: OutboxRelay) =>
            new PolicyChanges(db, outbox, relay, config.CHECK_VALID_MS),
        },
        {
          provide: SpacePreferences,
          inject: [PolicyChanges, DecisionsDatabase],
          useFactory: (changes: PolicyChanges, decisions: DecisionsDatabase) =>
            new SpacePreferences(changes, decisions),
        },
        {
          provide: SpaceRules,
          inject: [PolicyChanges],
          useFactory: (changes: PolicyChanges) => new SpaceRules(changes),
        },
        {
          provide: SpaceTools,
          inject: [PolicyChanges, Policy],
          useFactory: (changes: PolicyChanges, policy: Policy) => new SpaceTools(changes, policy),
        },
        {
          provide: Halts,
          inject: [DATABASE, PolicyChanges],
          useFactory: (db: Kysely<PolicyDatabase>, changes: PolicyChanges) =>
            new Halts(db, changes, config.HOLDPOINT_OPERATORS),
        },
        {
          provide: Spaces,
          inject: [DATABASE, Outbox, OutboxRelay],
          useFactory: (db: Kysely<PolicyDatabase>, outbox: Outbox, relay: OutboxRelay) =>
            new Spaces(db, outbox, relay, config.SPACE_CREATORS),
        },
      ],
    };
  }

  onModuleInit(): void {
    const { operator, builtin, mode } = this.policy.rules;
    this.#log.log(
      `${mode}: ${operator.length} operator and ${builtin.length} built-in rules, version ${this.policy.version}`,
    );
    if (mode === 'log-only') this.#log.warn('calls run whatever the rules say; the verdict is only recorded');
    if (!this.inspector.canRead)
      this.#log.warn(
        'HOLDPOINT_MASTER_KEY_FILE is not set: content cannot be inspected, so every call that may write is held',
      );
  }
}
