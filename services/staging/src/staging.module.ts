import { EventingModule, Outbox, OutboxRelay } from '@holdpoint/eventing';
import {
  DATABASE,
  DatabaseModule,
  IdentityFile,
  Keyring,
  MasterKey,
  policyMemberships,
  serviceClient,
  TableGauges,
} from '@holdpoint/runtime';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { Closer } from './closer.js';
import { DEFAULT_EXPIRY, type StagingConfig } from './config.js';
import { OnPolicyDecided } from './consumers/on-policy-decided.js';
import { OnToolExecuted } from './consumers/on-tool-executed.js';
import { OnToolInDoubt } from './consumers/on-tool-in-doubt.js';
import { OnToolStarted } from './consumers/on-tool-started.js';
import { Decisions } from './decisions.js';
import { ExecutionNews } from './execution-news.js';
import { ExpirySweeper } from './expiry-sweeper.js';
import { FrozenContent } from './frozen-content.js';
import { ApprovalsController } from './http/approvals.controller.js';
import { Views } from './http/views.js';
import { PolicyQuestion } from './policy-question.js';
import { Release } from './release.js';
import { FrozenCalls } from './store/frozen-calls.js';
import type { StagingDatabase } from './store/schema.js';
import { Votes } from './store/votes.js';
import { Voters } from './voters.js';

type Db = Kysely<StagingDatabase>;

@Module({})
export class StagingModule {
  /** @throws when the master key cannot be read; the text names the file and what is wrong. */
  static forRoot(config: StagingConfig): DynamicModule {
    const master = MasterKey.fromFile(config.HOLDPOINT_MASTER_KEY_FILE);
    const policy = serviceClient({
      baseUrl: config.POLICY_URL,
      token: config.HOLDPOINT_SERVICE_TOKEN,
      timeoutMs: config.POLICY_TIMEOUT_MS,
    });
    const memberships =
      config.OIDC_ISSUER === undefined
        ? undefined
        : policyMemberships(config.POLICY_URL, config.HOLDPOINT_SERVICE_TOKEN);
    return {
      module: StagingModule,
      imports: [
        DatabaseModule.forRoot(config.DATABASE_URL, { max: config.DATABASE_POOL_MAX, applicationName: 'staging' }),
        EventingModule.forRoot({ service: 'staging', config }),
        TableGauges.of(
          {
            name: 'holdpoint_approvals_pending',
            help: 'Calls that wait for a person',
            query: "SELECT count(*) AS value FROM frozen_calls WHERE status = 'pending'",
          },
          {
            name: 'holdpoint_approvals_oldest_pending_age_seconds',
            help: 'How long the oldest of them has waited',
            query: `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(staged_at)), 0)::float8 AS value
              FROM frozen_calls WHERE status = 'pending'`,
          },
        ),
      ],
      controllers: [OnPolicyDecided, OnToolStarted, OnToolExecuted, OnToolInDoubt, ApprovalsController],
      providers: [
        { provide: DEFAULT_EXPIRY, useValue: config.EXPIRES_AFTER_SECONDS },
        { provide: Voters, useValue: new Voters(new IdentityFile(config.HOLDPOINT_IDENTITY_FILE), memberships) },
        { provide: PolicyQuestion, useValue: new PolicyQuestion(policy) },
        { provide: FrozenCalls, inject: [DATABASE], useFactory: (db: Db) => new FrozenCalls(db) },
        { provide: Votes, inject: [DATABASE], useFactory: (db: Db) => new Votes(db) },
        {
          provide: FrozenContent,
          inject: [DATABASE],
          useFactory: (db: Db) => new FrozenContent(new Keyring(db, master)),
        },
        { provide: ExecutionNews, inject: [FrozenCalls], useFactory: (calls: FrozenCalls) => new ExecutionNews(calls) },
        {
          provide: Closer,
          inject: [DATABASE, FrozenCalls, Votes, Outbox, OutboxRelay],
          useFactory: (...needs: ConstructorParameters<typeof Closer>) => new Closer(...needs),
        },
        {
          provide: Release,
          inject: [Votes, Voters, PolicyQuestion, Closer],
          useFactory: (...needs: ConstructorParameters<typeof Release>) => new Release(...needs),
        },
        {
          provide: Views,
          inject: [Votes, Voters],
          useFactory: (...needs: ConstructorParameters<typeof Views>) => new Views(...needs),
        },
        {
          provide: Decisions,
          inject: [FrozenCalls, FrozenContent, Release, Closer],
          useFactory: (...needs: ConstructorParameters<typeof Decisions>) => new Decisions(...needs),
        },
        {
          provide: ExpirySweeper,
          inject: [DATABASE, FrozenCalls, Outbox, OutboxRelay],
          useFactory: (db: Db, calls: FrozenCalls, outbox: Outbox, relay: OutboxRelay) =>
            new ExpirySweeper(db, calls, outbox, relay, config.EXPIRY_SWEEP_MS),
        },
      ],
    };
  }
}
