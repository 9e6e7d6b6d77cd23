import { EventingModule } from '@holdpoint/eventing';
import { DATABASE, DatabaseModule, Keyring, MasterKey } from '@holdpoint/runtime';
import { type DynamicModule, Logger, Module } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { loadRules, type PolicyConfig } from './config.js';
import { OnToolProposed } from './consumers/on-tool-proposed.js';
import { ContentInspector } from './content-inspector.js';
import { CheckController } from './http/check.controller.js';
import { RulesController } from './http/rules.controller.js';
import { Policy } from './policy.js';
import { Decisions } from './store/decisions.js';
import type { PolicyDatabase } from './store/schema.js';

@Module({})
export class PolicyModule {
  /** @throws when holdpoint.yaml or the master key is wrong; the text names the file and what is wrong. */
  static forRoot(config: PolicyConfig): DynamicModule {
    const policy = new Policy(loadRules(config));
    const keyFile = config.HOLDPOINT_MASTER_KEY_FILE;
    const master = keyFile === undefined ? null : MasterKey.fromFile(keyFile);
    announce(policy, master !== null);
    return {
      module: PolicyModule,
      imports: [
        DatabaseModule.forRoot(config.DATABASE_URL, { max: config.DATABASE_POOL_MAX, applicationName: 'policy' }),
        EventingModule.forRoot({ service: 'policy', config }),
      ],
      controllers: [OnToolProposed, CheckController, RulesController],
      providers: [
        { provide: Policy, useValue: policy },
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
      ],
    };
  }
}

function announce({ rules, version }: Policy, canRead: boolean): void {
  const log = new Logger('Policy');
  log.log(
    `${rules.operator.length} operator and ${rules.builtin.length} built-in rules, ${rules.mode}, version ${version}`,
  );
  if (rules.mode === 'log-only') log.warn('log-only: calls run whatever the rules say; the verdict is only recorded');
  if (!canRead)
    log.warn('HOLDPOINT_MASTER_KEY_FILE is not set: no content can be inspected, so every call that may write is held');
}
