import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  auditEntry,
  type CallRef,
  catalogue,
  type EventData,
  type EventType,
  type HoldpointEvent,
  page,
  type ServiceName,
  STREAM,
} from '@holdpoint/contracts';
import { type Bus, connectBus, EventPublisher, newEvent, newId, StreamReader } from '@holdpoint/eventing';
import {
  createService,
  frozenDigest,
  Keyring,
  loadConfig,
  MasterKey,
  openDatabase,
  sha256Hex,
} from '@holdpoint/runtime';
import { eventually, startBus, type TestBus, type TestDatabase, testDatabase } from '@holdpoint/testing';
import { headers as makeHeaders } from '@nats-io/nats-core';
import type { INestApplication } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { AuditModule } from '../src/audit.module.js';
import { auditConfig } from '../src/config.js';
import type { Database } from '../src/store/schema.js';

export const ann = { kind: 'person', id: 'ann' } as const;
export const SPACE = 'acme';
export const CONVERSATION = 'conversation-1';
const tokenOf = (person: string): string => `token-of-${person}-0123456789`;

const people = {
  people: [
    { id: 'ann', name: 'Ann', spaces: { [SPACE]: 'member' }, tokenSha256: sha256Hex(tokenOf('ann')) },
    { id: 'otto', name: 'Otto, an auditor', spaces: {}, tokenSha256: sha256Hex(tokenOf('otto')) },
    { id: 'eve', name: 'Eve', spaces: { other: 'owner' }, tokenSha256: sha256Hex(tokenOf('eve')) },
  ],
  services: [{ id: 'staging', tokenSha256: sha256Hex(tokenOf('staging')) }],
};

/** Whatever only ever grows, and the position. */
export const GUARDED_TABLES = [
  'event_log',
  'audit_log',
  'run_receipts',
  'position',
  'tree_tiles',
  'checkpoints',
  'signing_keys',
];

export const newSigningKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** Bus, database, keyring and every publisher; the audit is started by the test. */
export class World {
  readonly #closers: (() => Promise<unknown>)[] = [];
  readonly #publishers = new Map<ServiceName, { bus: Bus; publisher: EventPublisher }>();
  url = '';

  private constructor(
    readonly bus: TestBus,
    readonly database: TestDatabase,
    readonly db: Kysely<Database>,
    readonly hub: Bus,
    readonly keyring: Keyring,
    readonly env: NodeJS.ProcessEnv,
    /** Writes a file that nobody else may read. */
    readonly file: (name: string, content: string) => Promise<string>,
  ) {}

  static async open(): Promise<World> {
    const [bus, database] = await Promise.all([startBus(), testDatabase()]);
    const dir = await mkdtemp(join(tmpdir(), 'audit-'));
    const file = async (name: string, content: string) => {
      await writeFile(join(dir, name), content);
      await chmod(join(dir, name), 0o600);
      return join(dir, name);
    };
    const masterKey = await file('master.key', randomBytes(32).toString('base64'));
    const { user, pass } = bus.credentials('audit');
    const env = {
      DATABASE_URL: database.url('audit'),
      NATS_URL: bus.url,
      NATS_USER: user,
      NATS_PASSWORD: pass,
      PORT: '0',
      HOLDPOINT_IDENTITY_FILE: await file('identities.json', JSON.stringify(people)),
      HOLDPOINT_SERVICE_TOKEN: tokenOf('audit'),
      HOLDPOINT_MASTER_KEY_FILE: masterKey,
      LOG_LEVEL: 'fatal',
      AUDIT_RETRY_MS: '100',
      AUDIT_SIGNING_KEY_FILE: await file('signing.key', newSigningKey()),
      AUDIT_CHECKPOINT_MS: '50',
      AUDIT_AUDITORS: 'otto',
    };
    const hub = await connectBus({ servers: bus.url, ...bus.credentials('hub'), name: 'hub', apiPrefix: '$JS.API' });
    const db = openDatabase<Database>(`${database.url('superuser')}?options=-csearch_path%3Daudit`);
    const engine = openDatabase<unknown>(database.url('agent-engine'));
    const keyring = new Keyring(engine, MasterKey.fromFile(masterKey), { cacheMs: 0 });
    await keyring.create(SPACE, CONVERSATION);
    const world = new World(bus, database, db, hub, keyring, env, file);
    world.#closers.push(
      () => rm(dir, { recursive: true }),
      () => bus.stop(),
      () => database.drop(),
      () => engine.destroy(),
      () => db.destroy(),
      () => hub.close(),
    );
    return world;
  }

  async start(settings: NodeJS.ProcessEnv = {}): Promise<INestApplication> {
    const config = loadConfig(auditConfig, { ...this.env, ...settings });
    const app = await createService({ name: 'audit', module: AuditModule.forRoot(config), config });
    let open = true;
    const close = app.close.bind(app);
    app.close = async () => {
      if (open) await close();
      open = false;
    };
    this.#closers.push(() => app.close());
    this.url = await app.getUrl();
    return app;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close();
  }

  async #as(service: ServiceName) {
    const known = this.#publishers.get(service);
    if (known) return known;
    const bus = await connectBus({ servers: this.bus.url, ...this.bus.credentials(service), name: service });
    this.#closers.push(() => bus.close());
    const made = { bus, publisher: new EventPublisher(bus, new StreamReader(bus)) };
    this.#publishers.set(service, made);
    return made;
  }

  /** Under the account of the service that may publish it. */
  async publish(...events: HoldpointEvent[]): Promise<number> {
    let seq = 0;
    for (const event of events)
      ({ seq } = await (await this.#as(catalogue[event.type].publisher)).publisher.publish(event));
    return seq;
  }

  /** Bytes of anybody's choice, with headers of anybody's choice, on a subject that the service may use. */
  async publishRaw(
    service: ServiceName,
    subject: string,
    bytes: Uint8Array | string,
    headers: Record<string, string> = {},
  ): Promise<number> {
    const { bus } = await this.#as(service);
    const h = makeHeaders();
    for (const [name, value] of Object.entries(headers)) h.append(name, value);
    return (await bus.js.publish(subject, bytes, { headers: h })).seq;
  }

  async lastSeq(): Promise<number> {
    return (await this.hub.jsm.streams.info(STREAM)).state.last_seq;
  }

  /** Waits until the log holds everything that the stream holds now. */
  async logged(timeoutMs = 30_000): Promise<void> {
    const last = await this.lastSeq();
    const there = async () => ((await this.position())?.last_seq ?? 0) >= last;
    await eventually(there, { timeoutMs, what: `the log up to ${last}` });
  }

  position() {
    return this.db.selectFrom('position').selectAll().executeTakeFirst();
  }

  async get(path: string, person = 'ann'): Promise<Answer> {
    const answer = await fetch(`${this.url}${path}`, { headers: { authorization: `Bearer ${tokenOf(person)}` } });
    return { status: answer.status, body: (await answer.json()) as Answer['body'] };
  }

  /** What is not one JSON document. */
  async text(path: string, person = 'ann'): Promise<string> {
    const answer = await fetch(`${this.url}${path}`, { headers: { authorization: `Bearer ${tokenOf(person)}` } });
    return answer.text();
  }

  /** Waits until the latest checkpoint covers everything that is logged now. */
  async signed(): Promise<{ number: number; size: number; root: Buffer; note: string }> {
    const size = await this.db
      .selectFrom('event_log')
      .select((e) => e.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow();
    const latest = () =>
      this.db.selectFrom('checkpoints').selectAll().orderBy('number', 'desc').limit(1).executeTakeFirst();
    await eventually(async () => (await latest())?.size === size.n, { timeoutMs: 30_000, what: 'the signing' });
    return (await latest()) as Awaited<ReturnType<World['signed']>>;
  }

  /** Entries of a query, checked against the contract. */
  async entries(query: string) {
    return page(auditEntry).parse((await this.get(`/v1/audit/entries?${query}`)).body).items;
  }

  /** As superuser, past the triggers: what nobody may do. */
  async force(statement: string): Promise<void> {
    const { rows } = await sql<{ table: string; name: string }>`
      SELECT tgrelid::regclass::text AS table, tgname AS name FROM pg_trigger WHERE tgenabled = 'A' AND NOT tgisinternal`.execute(
      this.db,
    );
    const own = rows.filter((t) => GUARDED_TABLES.includes(t.table.replace('audit.', '').replaceAll('"', '')));
    await this.db.transaction().execute(async (tx) => {
      for (const t of own)
        await sql`ALTER TABLE ${sql.table(t.table.replaceAll('"', ''))} DISABLE TRIGGER ${sql.id(t.name)}`.execute(tx);
      await sql.raw(statement).execute(tx);
      for (const t of own)
        await sql`ALTER TABLE ${sql.table(t.table.replaceAll('"', ''))} ENABLE ALWAYS TRIGGER ${sql.id(t.name)}`.execute(
          tx,
        );
    });
  }
}

export const call = {
  agent: 'writer',
  model: 'scripted',
  source: 'webview',
  principal: ann,
  conversationId: CONVERSATION,
  server: 'holdpoint',
  tool: 'Mail',
  action: 'send',
  schemaDigest: '0'.repeat(64),
  digest: '1'.repeat(64),
} satisfies CallRef;

/** A box that nobody opens. */
export const closedBox = { kid: 'dk_none', iv: 'AAAAAAAAAAAAAAAA', ct: 'AAAA' };

/** Makes the events of one call, as its publishers do. */
export class CallMaker {
  readonly id: string;
  readonly runId: string;
  readonly ref: typeof call & { taskId?: string };

  constructor(
    private readonly world: World,
    options: { runId?: string; id?: string; ref?: Partial<CallRef> } = {},
  ) {
    this.id = options.id ?? newId();
    this.runId = options.runId ?? newId();
    this.ref = { ...call, ...options.ref } as typeof this.ref;
  }

  #event<T extends EventType>(type: T, data: object): HoldpointEvent<T> {
    const full = { call: this.ref, ...data } as EventData<T>;
    return newEvent(type, { spaceId: SPACE, entityId: this.id, callId: this.id, runId: this.runId, data: full });
  }

  /** With the arguments truly sealed. */
  async proposed(args = '{"action":"send","to":"bob@example.org"}') {
    const nonce = randomBytes(32);
    const bytes = Buffer.from(args);
    const { agent, server, tool, action, schemaDigest } = this.ref;
    const context = { callId: this.id, spaceId: SPACE, principal: ann, agent, server, tool, action, schemaDigest };
    const digest = frozenDigest(context, nonce, bytes);
    const frozen = await this.sealed('frozen', Buffer.concat([nonce, bytes]));
    return this.#event('tool.proposed', {
      call: { ...this.ref, digest },
      frozen,
      argumentBytes: bytes.length,
      hint: 'write',
      scope: 'user',
      executionClass: 'at-most-once',
      origin: 'builtin',
      step: 1,
      index: 0,
    });
  }

  sealed(field: 'frozen' | 'arguments' | 'result' | 'reason', content: Uint8Array | string) {
    const place = { conversationId: CONVERSATION, spaceId: SPACE, entityId: this.id, field };
    return this.world.keyring.seal(place, content);
  }

  verdict(verdict: 'auto' | 'approve' | 'deny' = 'auto') {
    return this.#event('policy.decided', {
      verdict,
      reason: 'rule',
      rule: 'builtin: Mail.send',
      policyVersion: 'v1',
      mode: 'enforce',
      flags: [],
      proposalSeq: 1,
    });
  }

  started(held = false) {
    return this.#event('tool.started', { attempt: 1, held });
  }

  executed(data: Partial<EventData<'tool.executed'>> = {}) {
    return this.#event('tool.executed', {
      status: 'Ok',
      held: false,
      result: closedBox,
      cancelled: false,
      durationMs: 1,
      ...data,
    });
  }

  abandoned(reason: EventData<'tool.abandoned'>['reason']) {
    return this.#event('tool.abandoned', { reason });
  }

  staged(number = 42) {
    return this.#event('call.staged', {
      number,
      hint: 'write',
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
      rule: 'builtin: Mail.send',
      policyVersion: 'v1',
      flags: [],
    });
  }

  decided(data: Partial<EventData<'approval.decided'>> = {}) {
    const decision = data.decision ?? 'approved';
    return this.#event('approval.decided', {
      number: 42,
      decision,
      by: ann,
      decidedAt: new Date().toISOString(),
      reason: null,
      cause: 'person',
      policyVersion: 'v1',
      ...(decision === 'approved' ? { frozen: closedBox } : {}),
      ...data,
    });
  }

  /** The wake-up task that the call makes. */
  taskCreated() {
    const { conversationId, agent, principal, tool, action } = this.ref;
    return newEvent('task.created', {
      spaceId: SPACE,
      entityId: `wake-${this.id}`,
      callId: this.id,
      data: {
        work: {
          conversationId,
          agent,
          principal,
          wakeUp: {
            callId: this.id,
            number: 42,
            tool,
            action,
            outcome: 'executed',
            status: 'Ok',
            settled: false,
            reasonCode: null,
            by: ann,
            result: closedBox,
            reason: null,
          },
        },
        createdBy: { kind: 'service', id: 'taskboard' },
        dueAt: new Date().toISOString(),
      },
    });
  }
}

export function runEvents(runId: string, data: Partial<EventData<'run.completed'>> = {}) {
  const { agent, model, source, principal, conversationId } = call;
  const provenance = {
    agent,
    model,
    source,
    principal,
    conversationId,
    ...(data.taskId === undefined ? {} : { taskId: data.taskId, source: 'task' as const, attempt: data.attempt ?? 1 }),
  };
  const envelope = { spaceId: SPACE, entityId: runId };
  return {
    queued: newEvent('run.queued', { ...envelope, data: { ...provenance, prompt: closedBox } }),
    started: newEvent('run.started', { ...envelope, data: { ...provenance, engine: 'engine-1' } }),
    completed: newEvent('run.completed', {
      ...envelope,
      data: {
        ...provenance,
        status: 'ok',
        steps: 2,
        usage: { promptTokens: 100, completionTokens: 20, cachedTokens: 10 },
        cost: { amount: '0.0015', known: true },
        result: closedBox,
        durationMs: 5,
        ...data,
      },
    }),
  };
}
