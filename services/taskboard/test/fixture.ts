import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  type CallRef,
  type EventData,
  type EventType,
  type HoldpointEvent,
  type RunStatus,
  type Sealed,
  type ServiceName,
  STREAM,
  type TaskPromptRequest,
  taskPromptRequest,
} from '@holdpoint/contracts';
import {
  API_PREFIX,
  type Bus,
  connectBus,
  EventPublisher,
  JetStreamServer,
  newEvent,
  newId,
  StreamReader,
} from '@holdpoint/eventing';
import { createService, loadConfig, openDatabase, sha256Hex } from '@holdpoint/runtime';
import { startBus, type TestBus, type TestDatabase, testDatabase } from '@holdpoint/testing';
import type { INestApplication } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { taskboardConfig } from '../src/config.js';
import type { Database } from '../src/store/schema.js';
import { TaskboardModule } from '../src/taskboard.module.js';

export const ann = { kind: 'person', id: 'ann' } as const;
export const SPACE = 'acme';
export const tokenOf = (person: string): string => `token-of-${person}-0123456789`;

/** A box that nobody here opens; its text tells boxes apart. */
export const box = (text: string) => ({
  kid: 'dk_1',
  iv: 'AAAAAAAAAAAAAAAA',
  ct: Buffer.from(text).toString('base64url'),
});

export const call = {
  agent: 'writer',
  model: 'scripted',
  source: 'webview',
  principal: ann,
  conversationId: 'conversation-1',
  server: 'holdpoint',
  tool: 'Mail',
  action: 'send',
  schemaDigest: '0'.repeat(64),
  digest: '1'.repeat(64),
} satisfies CallRef;

const people = {
  people: [
    { id: 'ann', name: 'Ann', spaces: { [SPACE]: 'owner' }, tokenSha256: sha256Hex(tokenOf('ann')) },
    { id: 'max', name: 'Max', spaces: { [SPACE]: 'member' }, tokenSha256: sha256Hex(tokenOf('max')) },
    { id: 'eve', name: 'Eve', spaces: { other: 'owner' }, tokenSha256: sha256Hex(tokenOf('eve')) },
  ],
  services: [{ id: 'policy', tokenSha256: sha256Hex(tokenOf('policy')) }],
};

/** The engine as far as the board asks it: knows the agent `writer` and the conversation `conversation-1`. */
async function fakeEngine(): Promise<{ url: string; asked: TaskPromptRequest[]; close: () => Promise<unknown> }> {
  const asked: TaskPromptRequest[] = [];
  const server = createServer(async (request, response) => {
    const body = taskPromptRequest.parse(JSON.parse(await text(request)));
    asked.push(body);
    const known = body.agent === 'writer' && [undefined, 'conversation-1'].includes(body.conversationId);
    const code = 'engine.conversation-not-found';
    const answer = known
      ? { conversationId: body.conversationId ?? body.taskId, prompt: box(body.prompt) }
      : { type: 'about:blank', title: 'Not found', status: 404, code, detail: 'There is none.' };
    response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise<void>((up) => server.listen(0, '127.0.0.1', up));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    asked,
    close: () =>
      new Promise((done) => {
        server.close(done);
        server.closeAllConnections();
      }),
  };
}

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** The taskboard on a bus and a database of its own, and the services around it as publishers only. */
export class World {
  readonly #closers: (() => Promise<unknown>)[] = [];
  readonly #publishers = new Map<ServiceName, EventPublisher>();
  app!: INestApplication;
  url = '';

  private constructor(
    readonly bus: TestBus,
    readonly database: TestDatabase,
    readonly db: Kysely<Database>,
    private readonly env: NodeJS.ProcessEnv,
    readonly hub: Bus,
    readonly engine: Awaited<ReturnType<typeof fakeEngine>>,
  ) {}

  static async open(settings: NodeJS.ProcessEnv = {}): Promise<World> {
    const [bus, database] = await Promise.all([startBus(), testDatabase()]);
    const dir = await mkdtemp(join(tmpdir(), 'taskboard-'));
    const identityFile = join(dir, 'identities.json');
    await writeFile(identityFile, JSON.stringify(people));
    await chmod(identityFile, 0o600);
    const { user, pass } = bus.credentials('taskboard');
    const engine = await fakeEngine();
    const env = {
      DATABASE_URL: database.url('taskboard'),
      NATS_URL: bus.url,
      NATS_USER: user,
      NATS_PASSWORD: pass,
      PORT: '0',
      ENGINE_URL: engine.url,
      HOLDPOINT_IDENTITY_FILE: identityFile,
      HOLDPOINT_SERVICE_TOKEN: tokenOf('taskboard'),
      LOG_LEVEL: 'fatal',
      TASK_RETRY_BASE_MS: '1',
      TASK_SCAN_MS: '50',
      ...settings,
    };
    const hub = await connectBus({ servers: bus.url, ...bus.credentials('hub'), name: 'hub', apiPrefix: '$JS.API' });
    const db = openDatabase<Database>(`${database.url('superuser')}?options=-csearch_path%3Dtaskboard`);
    const world = new World(bus, database, db, env, hub, engine);
    world.#closers.push(
      () => engine.close(),
      () => rm(dir, { recursive: true }),
      () => bus.stop(),
      () => database.drop(),
      () => db.destroy(),
      () => hub.close(),
    );
    world.app = await world.instance();
    world.url = await world.app.getUrl();
    return world;
  }

  /** One more instance of the service. */
  async instance(): Promise<INestApplication> {
    const config = loadConfig(taskboardConfig, this.env);
    const app = await createService({
      name: 'taskboard',
      module: TaskboardModule.forRoot(config),
      config,
      strategy: (a) => a.get(JetStreamServer),
    });
    this.#closers.push(() => app.close());
    return app;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close();
  }

  async publish(event: HoldpointEvent): Promise<void> {
    const service = event.type.startsWith('approval.') ? 'staging' : 'agent-engine';
    let publisher = this.#publishers.get(service);
    if (publisher === undefined) {
      const options = { servers: this.bus.url, ...this.bus.credentials(service), name: service, apiPrefix: API_PREFIX };
      const bus = await connectBus(options);
      this.#closers.push(() => bus.close());
      publisher = new EventPublisher(bus, new StreamReader(bus));
      this.#publishers.set(service, publisher);
    }
    await publisher.publish(event);
  }

  async task(id: string) {
    return this.db.selectFrom('tasks').selectAll().where('task_id', '=', id).executeTakeFirst();
  }

  /** Every event of a type about an entity, in stream order. */
  async events<T extends EventType>(type: T, entity: string): Promise<HoldpointEvent<T>[]> {
    return (await this.stream(`${type}.${SPACE}.${entity}`)) as HoldpointEvent<T>[];
  }

  async stream(filter = '>'): Promise<HoldpointEvent[]> {
    const consumer = await this.hub.js.consumers.get(STREAM, { filter_subjects: filter });
    const found: HoldpointEvent[] = [];
    for (;;) {
      const { num_pending } = await consumer.info();
      if (num_pending === 0) return found;
      for await (const m of await consumer.fetch({ max_messages: num_pending, expires: 2_000 })) found.push(m.json());
    }
  }

  get(path: string, person = 'ann'): Promise<Answer> {
    return this.#ask('GET', path, person);
  }

  post(path: string, person = 'ann', body?: object): Promise<Answer> {
    return this.#ask('POST', path, person, body);
  }

  async #ask(method: string, path: string, person: string, body?: object): Promise<Answer> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${tokenOf(person)}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Answer['body'] };
  }
}

export const approved = (callId: string, number = 42, reason: Sealed | null = null) =>
  decided(callId, { decision: 'approved', number, reason, frozen: box('frozen') });

export const decided = (callId: string, data: Partial<EventData<'approval.decided'>>) =>
  newEvent('approval.decided', {
    spaceId: SPACE,
    entityId: callId,
    data: {
      call,
      number: 42,
      decision: 'rejected',
      by: ann,
      decidedAt: new Date().toISOString(),
      reason: null,
      cause: 'person',
      policyVersion: 'v1',
      ...data,
    },
  });

export const executed = (callId: string, data: Partial<EventData<'tool.executed'>> = {}) =>
  newEvent('tool.executed', {
    spaceId: SPACE,
    entityId: callId,
    data: { call, status: 'Ok', held: true, result: box('result'), cancelled: false, durationMs: 1, ...data },
  });

/** The run that the engine starts for an offer. */
export function runOf(ready: HoldpointEvent<'task.ready'>, runId = newId()) {
  const { conversationId, agent, principal } = ready.data.work;
  const provenance = {
    agent,
    model: 'scripted',
    source: 'task',
    principal,
    conversationId,
    taskId: ready.subject,
    attempt: ready.data.attempt,
  } as const;
  const envelope = { spaceId: SPACE, entityId: runId };
  return {
    id: runId,
    queued: newEvent('run.queued', { ...envelope, data: { ...provenance, prompt: box('prompt') } }),
    started: newEvent('run.started', { ...envelope, data: { ...provenance, engine: 'engine-1' } }),
    completed: (status: RunStatus, reason?: string) =>
      newEvent('run.completed', {
        ...envelope,
        data: {
          ...provenance,
          status,
          ...(reason === undefined ? {} : { reason }),
          steps: 1,
          usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
          cost: { amount: '0', known: false },
          result: null,
          durationMs: 1,
        },
      }),
  };
}
