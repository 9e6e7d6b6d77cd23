import {
  Bus,
  EventingModule,
  EventPublisher,
  FactWaiter,
  newId,
  Outbox,
  OutboxRelay,
  StreamReader,
} from '@holdpoint/eventing';
import {
  DATABASE,
  DatabaseModule,
  Keyring,
  MasterKey,
  SpacePolicyClient,
  serviceClient,
  TableGauges,
} from '@holdpoint/runtime';
import { type DynamicModule, type FactoryProvider, Module, type Type } from '@nestjs/common';
import { AGENTS, Wording } from './agents.js';
import { type EngineConfig, loadAgents } from './config.js';
import { OnApprovalDecided } from './consumers/on-approval-decided.js';
import { OnPolicyChanged } from './consumers/on-policy-changed.js';
import { OnTaskCancelled } from './consumers/on-task-cancelled.js';
import { OnTaskReady } from './consumers/on-task-ready.js';
import { Erasure } from './erasure.js';
import { CallContent } from './gate/content.js';
import { Effects } from './gate/effects.js';
import { FrozenArguments } from './gate/frozen-arguments.js';
import { FrozenCallExecutor } from './gate/frozen-call-executor.js';
import { Gate } from './gate/gate.js';
import { LaterAttempts } from './gate/later-attempts.js';
import { PolicyQuestion } from './gate/policy-question.js';
import { Previews } from './gate/previews.js';
import { ProposedAnew } from './gate/proposed-anew.js';
import { Settlement } from './gate/settlement.js';
import { DoubtsController } from './http/doubts.controller.js';
import { ErasuresController } from './http/erasures.controller.js';
import { PreviewsController } from './http/previews.controller.js';
import { RunsController } from './http/runs.controller.js';
import { TaskPromptsController } from './http/task-prompts.controller.js';
import { agentModels } from './models/agent-model.js';
import { checkRules } from './rules.js';
import { CancelRun } from './run/cancel-run.js';
import { Compaction } from './run/compaction.js';
import { Player } from './run/play.js';
import { Progress } from './run/progress.js';
import { Recovery } from './run/recovery.js';
import { Runner } from './run/runner.js';
import { StartRun } from './run/start-run.js';
import { guarded } from './secrets/guarded.js';
import { secretsOf } from './secrets/of-engine.js';
import { Secrets } from './secrets/secrets.js';
import { telegramProviders } from './sources/telegram/index.js';
import { Calls } from './store/calls.js';
import { ErasableConversations } from './store/erasable-conversations.js';
import { Executions } from './store/executions.js';
import { Runs } from './store/runs.js';
import { Summaries } from './store/summaries.js';
import { Turns } from './store/turns.js';
import { Announcer } from './tools/announcer.js';
import { builtinTools, SETTING_OF } from './tools/catalogue.js';
import { Offer } from './tools/offer.js';
import { ToolRegistry } from './tools/registry.js';
import type { Tool } from './tools/tool.js';

const POLICY_TIMEOUT_MS = 5_000;
/** A round of a model waits for advice no longer than this. */
const ADVICE_TIMEOUT_MS = 1_000;

const MODELS = Symbol('holdpoint.models');
const ENGINE = Symbol('holdpoint.engine');

/** `useFactory` gets what `inject` names, in its order. */
const make = <T>(
  provide: Type<T> | symbol,
  inject: unknown[],
  useFactory: FactoryProvider<T>['useFactory'],
): FactoryProvider<T> => ({
  provide: provide as Type<T>,
  inject: inject as Type[],
  useFactory,
});
/** A class that takes exactly its dependencies, in order. */
// biome-ignore lint/suspicious/noExplicitAny: as above
const build = <T>(type: new (...args: any[]) => T, ...inject: unknown[]) =>
  make<T>(type as Type<T>, inject, (...args) => new type(...args));

const noTool = (tool: string): string => {
  const setting = Object.hasOwn(SETTING_OF, tool) ? SETTING_OF[tool] : undefined;
  return `there is no tool ${tool}${setting ? ` unless ${setting} is set` : ''}`;
};

@Module({})
export class AgentEngineModule {
  /** @throws when holdpoint.yaml, a script, a model's settings or the master key is wrong; the text names what is. */
  static forRoot(config: EngineConfig, tools: readonly Tool[] = builtinTools(config)): DynamicModule {
    const agents = loadAgents(config.HOLDPOINT_CONFIG, config.HOLDPOINT_MODEL);
    const secrets = secretsOf(config, tools);
    for (const a of agents.values())
      if (secrets.find(a.system).length > 0)
        throw new Error(`${config.HOLDPOINT_CONFIG}: agents.${a.name}.system: contains the value of a secret`);
    const models = agentModels(agents.values(), config, (text) => secrets.scrub(text));
    const registry = new ToolRegistry(tools.map((t) => guarded(t, secrets)));
    for (const a of agents.values())
      for (const t of a.tools)
        if (!registry.find(t)) throw new Error(`${config.HOLDPOINT_CONFIG}: agents.${a.name}.tools: ${noTool(t)}`);
    checkRules(config.HOLDPOINT_CONFIG, agents, registry);
    const master = MasterKey.fromFile(config.HOLDPOINT_MASTER_KEY_FILE);
    const policy = { baseUrl: config.POLICY_URL, token: config.HOLDPOINT_SERVICE_TOKEN, timeoutMs: POLICY_TIMEOUT_MS };

    return {
      module: AgentEngineModule,
      imports: [
        DatabaseModule.forRoot(config.DATABASE_URL, { max: config.DATABASE_POOL_MAX, applicationName: 'agent-engine' }),
        EventingModule.forRoot({ service: 'agent-engine', config }),
        TableGauges.of(
          {
            name: 'holdpoint_runs',
            help: 'Runs by status',
            labels: ['status'],
            query: 'SELECT state AS status, count(*) AS value FROM runs GROUP BY state',
          },
          {
            name: 'holdpoint_executions',
            help: 'Claimed calls by state',
            labels: ['state'],
            query: 'SELECT state, count(*) AS value FROM executions GROUP BY state',
          },
          {
            name: 'holdpoint_telegram_messages',
            help: 'Answers in chats by state',
            labels: ['state'],
            query: 'SELECT state, count(*) AS value FROM telegram_messages GROUP BY state',
          },
        ),
      ],
      controllers: [
        OnApprovalDecided,
        OnTaskReady,
        OnTaskCancelled,
        RunsController,
        DoubtsController,
        ErasuresController,
        PreviewsController,
        TaskPromptsController,
      ],
      providers: [
        { provide: ENGINE, useValue: `engine-${newId()}` },
        { provide: AGENTS, useValue: agents },
        { provide: MODELS, useValue: models },
        { provide: Wording, useValue: new Wording(agents) },
        { provide: ToolRegistry, useValue: registry },
        { provide: Secrets, useValue: secrets },
        make(Keyring, [DATABASE], (db) => new Keyring(db, master)),
        build(Runs, DATABASE),
        build(Calls, DATABASE),
        build(Executions, DATABASE),
        build(Turns, DATABASE, Keyring),
        build(Summaries, DATABASE, Keyring),
        build(CallContent, Keyring),
        build(Compaction, Turns, Summaries),
        make(PolicyQuestion, [], () => new PolicyQuestion(serviceClient(policy))),
        make(
          Effects,
          [DATABASE, Executions, Outbox, OutboxRelay, CallContent, StreamReader, Wording, ENGINE],
          (db, executions, outbox, relay, content, reader, wording, engine) =>
            new Effects(db, executions, outbox, relay, content, reader, wording, {
              leaseMs: config.EXECUTION_LEASE_MS,
              attempts: config.EXECUTION_ATTEMPTS,
              backoffMs: config.ATTEMPT_BACKOFF_MS,
              engine,
            }),
        ),
        make(
          Gate,
          [ToolRegistry, Calls, CallContent, EventPublisher, StreamReader, FactWaiter, Effects, PolicyQuestion],
          (named, calls, content, publisher, reader, facts, effects, question) =>
            new Gate(named, calls, content, publisher, reader, facts, effects, question, secrets, {
              verdictMs: config.VERDICT_TIMEOUT_MS,
              stagedMs: config.STAGED_TIMEOUT_MS,
            }),
        ),
        make(
          FrozenCallExecutor,
          [AGENTS, FrozenArguments, Executions, Effects, PolicyQuestion],
          (declared, frozen, executions, effects, question) =>
            new FrozenCallExecutor(declared, frozen, executions, effects, question, config.APPROVAL_LAPSE_MS),
        ),
        build(FrozenArguments, ToolRegistry, CallContent, StreamReader, Secrets),
        build(Previews, FrozenArguments, StreamReader),
        build(LaterAttempts, DATABASE, Executions, FrozenArguments, Effects),
        build(
          ProposedAnew,
          AGENTS,
          Runs,
          Calls,
          Executions,
          FrozenArguments,
          CallContent,
          Gate,
          Recovery,
          StreamReader,
          Wording,
        ),
        build(Settlement, DATABASE, Executions, CallContent, Outbox, OutboxRelay, Wording),
        build(
          Player,
          DATABASE,
          Runs,
          Turns,
          Calls,
          CallContent,
          Keyring,
          Gate,
          Outbox,
          OutboxRelay,
          ENGINE,
          Wording,
          Compaction,
          Secrets,
        ),
        make(
          Recovery,
          [
            DATABASE,
            Runs,
            Turns,
            Calls,
            Executions,
            CallContent,
            Gate,
            Effects,
            StreamReader,
            EventPublisher,
            Outbox,
            OutboxRelay,
            Wording,
          ],
          (db, runs, turns, calls, executions, content, gate, effects, reader, publisher, outbox, relay, wording) =>
            new Recovery(
              db,
              runs,
              turns,
              calls,
              executions,
              content,
              gate,
              effects,
              reader,
              publisher,
              outbox,
              relay,
              config.RUN_LOST_AFTER_MS,
              wording,
            ),
        ),
        make(
          Runner,
          [
            DATABASE,
            ENGINE,
            AGENTS,
            MODELS,
            Offer,
            Runs,
            Player,
            Recovery,
            LaterAttempts,
            ProposedAnew,
            Outbox,
            OutboxRelay,
          ],
          (db, engine, declared, played, offer, runs, player, recovery, later, anew, outbox, relay) =>
            new Runner(
              db,
              engine,
              config.MAX_RUNNING,
              declared,
              played,
              offer,
              runs,
              player,
              recovery,
              [later, anew],
              outbox,
              relay,
            ),
        ),
        make(
          SpacePolicyClient,
          [],
          () => new SpacePolicyClient(serviceClient({ ...policy, timeoutMs: ADVICE_TIMEOUT_MS })),
        ),
        build(OnPolicyChanged, Bus, SpacePolicyClient),
        build(Offer, ToolRegistry, SpacePolicyClient),
        build(Announcer, DATABASE, AGENTS, ToolRegistry, Outbox, OutboxRelay),
        build(StartRun, DATABASE, Runs, Keyring, Outbox, OutboxRelay, Runner, Secrets),
        build(ErasableConversations),
        make(
          Erasure,
          [DATABASE, ErasableConversations, Outbox, OutboxRelay, Keyring],
          (db, conversations, outbox, relay, keyring) => {
            const retention = { days: config.CONTENT_RETENTION_DAYS, everyMs: config.RETENTION_SWEEP_MS };
            return new Erasure(db, conversations, outbox, relay, keyring, retention);
          },
        ),
        build(CancelRun, Runs, Outbox, OutboxRelay, Runner),
        build(Progress, Runs, Turns, Calls, StreamReader, Keyring),
        ...telegramProviders(config, agents),
      ],
    };
  }
}
