import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  type EventType,
  type PolicyCheckReply,
  policyCheckRequest,
  type ServiceName,
  type SpacePolicyAdvice,
  type SpacePolicyAdviceRequest,
} from '@holdpoint/contracts';
import { type Bus, connectBus, EventPublisher, JetStreamServer, type Stored, StreamReader } from '@holdpoint/eventing';
import { createService, openDatabase } from '@holdpoint/runtime';
import { eventually, startBus, testDatabase } from '@holdpoint/testing';
import type { INestApplication } from '@nestjs/common';
import { sql } from 'kysely';
import { AgentEngineModule } from '../src/agent-engine.module.js';
import { engineConfig } from '../src/config.js';
import type { Database } from '../src/store/schema.js';
import { builtinTools } from '../src/tools/catalogue.js';
import type { Tool } from '../src/tools/tool.js';

export interface EngineOptions {
  /** YAML of the scripted model; none for another one. */
  script?: string;
  /** Of the agent; default `scripted`. Its endpoint and key go into `env`. */
  model?: string;
  /** Names assigned to the agent. */
  tools?: string[];
  /** Tools of the test's own beside the built-in ones. */
  extraTools?: Tool[];
  /** Further agents beside `helper`: what differs from it, as YAML lines. */
  agents?: Record<string, string[]>;
  /** Further sections of holdpoint.yaml. */
  sections?: string;
  env?: Record<string, string>;
  /** What policy answers when it is asked again; null: it does not answer. */
  policy?: () => Partial<PolicyCheckReply> | null;
  /** What policy advises on the actions of an agent in the space; null: it does not answer. */
  advice?: (spaceId: string) => SpacePolicyAdvice['actions'] | null;
  /** No engine runs in this process: the test starts its own with `env`, and says with `at` which one to ask. */
  elsewhere?: boolean;
}

const people = {
  ada: { acme: 'owner' },
  ben: { acme: 'member' },
  cleo: { acme: 'admin' },
  /** Of another space. */
  mallory: { other: 'owner' },
};
type Person = keyof typeof people;
type Caller = Person | 'taskboard';

export type TestEngine = Awaited<ReturnType<typeof startEngine>>;

/** The engine on a real bus and database. The test plays policy and staging with their own accounts. */
export async function startEngine(options: EngineOptions) {
  const [bus, database] = await Promise.all([startBus(), testDatabase()]);
  const home = await mkdtemp(join(tmpdir(), 'engine-'));
  const workspace = join(home, 'workspace');
  await Promise.all([mkdir(workspace), mkdir(join(home, 'maildir', 'new'), { recursive: true })]);
  const tokens = Object.fromEntries(
    [...Object.keys(people), 'taskboard'].map((id) => [id, randomBytes(16).toString('hex')]),
  ) as Record<Caller, string>;
  const tools = options.tools ?? ['FileRW', 'Mail'];
  const declared = [
    'space: acme',
    `model: ${options.model ?? 'scripted'}`,
    ...(options.script === undefined ? [] : ['script: script.yaml']),
    `tools: [${tools.join(', ')}]`,
  ];
  await Promise.all([
    writeFile(join(home, 'script.yaml'), options.script ?? ''),
    writeFile(
      join(home, 'holdpoint.yaml'),
      `agents:\n${Object.entries({ helper: [], ...options.agents })
        .map(([agent, lines]) => `  ${agent}:\n${[...declared, ...lines].map((l) => `    ${l}\n`).join('')}`)
        .join('')}${options.sections ?? ''}`,
    ),
    writeFile(join(home, 'master.key'), randomBytes(32).toString('base64'), { mode: 0o600 }),
    writeFile(
      join(home, 'identity.json'),
      JSON.stringify({
        people: Object.entries(people).map(([id, spaces]) => ({
          id,
          name: id,
          spaces,
          tokenSha256: createHash('sha256')
            .update(tokens[id as Person])
            .digest('hex'),
        })),
        services: [{ id: 'taskboard', tokenSha256: createHash('sha256').update(tokens.taskboard).digest('hex') }],
      }),
      { mode: 0o600 },
    ),
  ]);
  const policy = createServer(async (request, response) => {
    const json = (answer: unknown) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    const body: unknown = JSON.parse(await text(request));
    const spaceId = /^\/internal\/spaces\/([^/]+)\/advice$/.exec(request.url ?? '')?.[1];
    if (spaceId !== undefined) {
      const actions = (options.advice ?? (() => []))(spaceId);
      if (actions === null) return response.destroy();
      return json({ spaceId, agent: (body as SpacePolicyAdviceRequest).agent, actions });
    }
    const asked = policyCheckRequest.safeParse(body);
    if (!asked.success) return response.writeHead(400).end();
    const answer = (options.policy ?? (() => ({})))();
    if (answer === null) return response.destroy();
    const whole = { verdict: 'auto', halted: false, reason: 'test', rule: 'test', policyVersion: 'v1', ...answer };
    return json(whole);
  });
  await new Promise<void>((resolve) => policy.listen(0, '127.0.0.1', resolve));

  const env = {
    DATABASE_URL: database.url('agent-engine'),
    NATS_URL: bus.url,
    NATS_USER: bus.credentials('agent-engine').user,
    NATS_PASSWORD: bus.credentials('agent-engine').pass,
    PORT: '0',
    LOG_LEVEL: 'fatal',
    HOLDPOINT_IDENTITY_FILE: join(home, 'identity.json'),
    HOLDPOINT_SERVICE_TOKEN: randomBytes(16).toString('hex'),
    HOLDPOINT_MASTER_KEY_FILE: join(home, 'master.key'),
    HOLDPOINT_CONFIG: join(home, 'holdpoint.yaml'),
    POLICY_URL: `http://127.0.0.1:${(policy.address() as AddressInfo).port}`,
    FILERW_ROOT: workspace,
    MAIL_SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'agent@example.test',
    MAIL_MAILDIR: join(home, 'maildir'),
    ...options.env,
  };
  const config = engineConfig.parse(env);
  const start = () =>
    createService({
      name: 'agent-engine',
      module: AgentEngineModule.forRoot(config, [...builtinTools(config), ...(options.extraTools ?? [])]),
      config,
      strategy: (app) => app.get(JetStreamServer),
    });
  const app = (options.elsewhere ? undefined : await start()) as INestApplication;
  const apps = app ? [app] : [];
  let url = await app?.getUrl();

  const connections: Bus[] = [];
  const connect = async (service: ServiceName) => {
    const connected = await connectBus({ servers: bus.url, ...bus.credentials(service), name: service });
    connections.push(connected);
    return connected;
  };
  const [asPolicy, asStaging, asTaskboard] = await Promise.all([
    connect('policy'),
    connect('staging'),
    connect('taskboard'),
  ]);
  const publisherOf = (of: Bus) => new EventPublisher(of, new StreamReader(of));
  const reader = new StreamReader(asStaging);
  const db = openDatabase<Database>(database.url('agent-engine'), { max: 2 });
  /** @param more who asks, which instance, and what else to send */
  const request = async (
    method: string,
    path: string,
    body?: unknown,
    more: { who?: Caller; at?: INestApplication; accept?: string; signal?: AbortSignal } = {},
  ) =>
    fetch(new URL(path, (await more.at?.getUrl()) ?? url), {
      method,
      headers: {
        authorization: `Bearer ${tokens[more.who ?? 'ada']}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(more.accept === undefined ? {} : { accept: more.accept }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(more.signal === undefined ? {} : { signal: more.signal }),
    });
  const ask = async (method: string, path: string, body?: unknown, more: Parameters<typeof request>[3] = {}) => {
    const response = await request(method, path, body, more);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };

  return {
    app,
    bus,
    database,
    db,
    home,
    workspace,
    reader,
    ask,
    env,
    superuserUrl: database.url('superuser'),
    at: (other: string) => {
      url = other;
    },
    request,
    /** One more instance over the same bus and database. */
    another: async () => {
      const next = await start();
      apps.push(next);
      return next;
    },
    as: {
      policy: publisherOf(asPolicy),
      staging: publisherOf(asStaging),
      taskboard: publisherOf(asTaskboard),
    },
    run: async (
      prompt: string,
      conversationId?: string,
      { agent = 'helper', ...more }: { agent?: string; who?: Caller; at?: INestApplication } = {},
    ): Promise<string> => {
      const wanted = { prompt, ...(conversationId === undefined ? {} : { conversationId }) };
      const { status, body } = await ask('POST', `/v1/agents/${agent}/runs`, wanted, more);
      if (status !== 202) throw new Error(`the run was not taken: ${JSON.stringify(body)}`);
      return body['id'] as string;
    },
    ended: (runId: string) =>
      eventually(
        async () => {
          const { body } = await ask('GET', `/v1/runs/${runId}`);
          if (body['completedAt'] === null) throw new Error(`the run is ${body['state']}`);
          return body as { state: string; reason?: string; result: string; conversationId: string };
        },
        { what: 'the end of the run' },
      ),
    /** The calls of a run, in the order in which the model wrote them. */
    calls: (runId: string, count = 1) =>
      eventually(
        async () => {
          const rows = await db
            .selectFrom('calls')
            .selectAll()
            .where('run_id', '=', runId)
            .orderBy('step')
            .orderBy('position')
            .execute();
          if (rows.length < count) throw new Error(`${rows.length} calls`);
          return rows.map((r) => r.call_id);
        },
        { what: `${count} calls` },
      ),
    stored: <T extends EventType>(type: T, entityId: string): Promise<Stored<T>> =>
      eventually(
        async () => {
          const found = await reader.last(type, 'acme', entityId);
          if (!found) throw new Error(`no ${type} for ${entityId}`);
          return found;
        },
        { what: `${type} in the stream` },
      ),
    /** Rows of poison; none may come of a dependency that is down. */
    deadLetters: async () =>
      (await sql<{ n: number }>`select count(*)::int as n from dead_letters`.execute(db)).rows[0]?.n,
    /** Ends every instance; the stores stay. */
    halt: async () => {
      await Promise.all(apps.splice(0).map((a) => a.close()));
    },
    stop: async () => {
      await Promise.all(apps.map((a) => a.close()));
      await Promise.all([...connections.map((c) => c.close()), db.destroy()]);
      policy.close();
      await bus.stop();
      await database.drop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
