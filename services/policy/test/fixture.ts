import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceName } from '@holdpoint/contracts';
import {
  type Bus,
  connectBus,
  EventPublisher,
  JetStreamServer,
  newEvent,
  newId,
  StreamReader,
} from '@holdpoint/eventing';
import {
  createService,
  frozenDigest,
  Keyring,
  loadConfig,
  MasterKey,
  openDatabase,
  sha256Hex,
} from '@holdpoint/runtime';
import { startBus, testDatabase } from '@holdpoint/testing';
import type { Kysely } from 'kysely';
import { policyConfig } from '../src/config.js';
import { PolicyModule } from '../src/policy.module.js';
import { DecisionsDatabase } from '../src/store/decisions-database.js';
import type { PolicyDatabase } from '../src/store/schema.js';

export interface Proposing {
  tool?: string;
  action?: string | null;
  args?: unknown;
  hint?: 'read' | 'write' | 'destructive';
  scope?: 'user' | 'admin';
  origin?: 'builtin' | 'foreign';
  conversationId?: string;
  /** On whose behalf; somebody else each time unless given, so that no test uses up the rate limit of another. */
  principal?: string;
}

const TOKENS = {
  member: 'token-of-a-member',
  loner: 'token-of-nobodys-member',
  staging: 'token-of-staging',
  audit: 'token-of-audit',
  engine: 'token-of-the-engine',
};
const person = (id: string, spaces: object, token: string) => ({ id, name: id, spaces, tokenSha256: sha256Hex(token) });

/** The policy service on real stores, and an engine that proposes to it. Close it when done. */
export async function openPolicy() {
  const closers: (() => unknown)[] = [];
  const dir = mkdtempSync(join(tmpdir(), 'holdpoint-policy-'));
  closers.push(() => rmSync(dir, { recursive: true, force: true }));
  const file = (name: string, text: string) => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const keyFile = file('master.key', randomBytes(32).toString('base64'));
  const identities = file(
    'identities.json',
    JSON.stringify({
      people: [person('mia', { acme: 'member' }, TOKENS.member), person('lone', {}, TOKENS.loner)],
      services: [
        { id: 'staging', tokenSha256: sha256Hex(TOKENS.staging) },
        { id: 'audit', tokenSha256: sha256Hex(TOKENS.audit) },
        { id: 'agent-engine', tokenSha256: sha256Hex(TOKENS.engine) },
      ],
    }),
  );

  const server = await startBus();
  closers.push(() => server.stop());
  const database = await testDatabase();
  closers.push(() => database.drop());
  const db = openDatabase<PolicyDatabase>(database.url('superuser'), { max: 2 }).withSchema('policy');
  closers.push(() => db.destroy());
  const engineDb = openDatabase<unknown>(database.url('agent-engine'), { max: 2 });
  closers.push(() => engineDb.destroy());
  const keyring = new Keyring(engineDb as Kysely<unknown>, MasterKey.fromFile(keyFile));

  const busOf = async (name: ServiceName): Promise<Bus> => {
    const bus = await connectBus({ servers: server.url, ...server.credentials(name), name });
    closers.push(() => bus.close());
    return bus;
  };
  const [engine, staging] = [await busOf('agent-engine'), await busOf('staging')];
  const reader = new StreamReader(staging);
  const publisher = new EventPublisher(engine, new StreamReader(engine));

  /** One instance of the service; `yaml` is its holdpoint.yaml. */
  const start = async ({ yaml, env = {} }: { yaml?: string; env?: Record<string, string> } = {}) => {
    const { user, pass } = server.credentials('policy');
    const config = loadConfig(policyConfig, {
      DATABASE_URL: database.url('policy'),
      DECISIONS_DATABASE_URL: database.url('policy-reader'),
      SPACE_CREATORS: 'ada otto',
      NATS_URL: server.url,
      NATS_USER: user,
      NATS_PASSWORD: pass,
      PORT: '0',
      LOG_LEVEL: 'fatal',
      HOLDPOINT_IDENTITY_FILE: identities,
      HOLDPOINT_SERVICE_TOKEN: 'token-of-policy-itself',
      HOLDPOINT_MASTER_KEY_FILE: keyFile,
      DATABASE_POOL_MAX: '4',
      ...(yaml === undefined ? {} : { HOLDPOINT_CONFIG: file(`${newId()}.yaml`, yaml) }),
      ...env,
    });
    const app = await createService({
      name: 'policy',
      module: PolicyModule.forRoot(config),
      config,
      strategy: (a) => a.get(JetStreamServer),
      memberships: (a) => a.get(DecisionsDatabase),
    });
    let open = true;
    const close = async () => {
      if (open) await app.close();
      open = false;
    };
    closers.push(close);
    return { url: await app.getUrl(), close };
  };

  const propose = async (p: Proposing = {}) => {
    const callId = newId();
    const spaceId = 'acme';
    const conversationId = p.conversationId ?? 'talk';
    await keyring.create(spaceId, conversationId);
    const bytes = Buffer.from(JSON.stringify(p.args ?? { to: 'bo@example.org' }));
    const nonce = randomBytes(32);
    const context = {
      principal: { kind: 'person' as const, id: p.principal ?? callId },
      agent: 'assistant',
      server: p.origin === 'foreign' ? 'remote' : 'builtin',
      tool: p.tool ?? 'Mail',
      action: p.action === undefined ? 'send' : p.action,
      schemaDigest: 'a'.repeat(64),
    };
    const event = newEvent('tool.proposed', {
      spaceId,
      entityId: callId,
      runId: 'run1',
      data: {
        call: {
          ...context,
          model: 'scripted',
          source: 'webview',
          conversationId,
          digest: frozenDigest({ callId, spaceId, ...context }, nonce, bytes),
        },
        frozen: await keyring.seal(
          { spaceId, conversationId, entityId: callId, field: 'frozen' },
          Buffer.concat([nonce, bytes]),
        ),
        argumentBytes: bytes.length,
        hint: p.hint ?? 'write',
        scope: p.scope ?? 'user',
        executionClass: 'at-most-once',
        origin: p.origin ?? 'builtin',
        step: 1,
        index: 0,
      },
    });
    return { ...(await publisher.publish(event)), event };
  };

  return {
    start,
    propose,
    reader,
    publisher,
    busOf,
    server,
    database,
    db,
    tokens: TOKENS,
    identities,
    url: database.url,
    /** The verdict that the stream holds on a call, or null. */
    verdictOn: (callId: string) => reader.last('policy.decided', 'acme', callId),
    destroyKey: (conversationId: string) =>
      engineDb
        .withSchema('keyring')
        .withTables<{ data_keys: { conversation_id: string; wrapped: Buffer | null; destroyed_at: Date | null } }>()
        .updateTable('data_keys')
        .set({ wrapped: null, destroyed_at: new Date() })
        .where('conversation_id', '=', conversationId)
        .execute(),
    close: async () => {
      for (const close of closers.splice(0).reverse()) await close();
    },
  };
}
export type PolicyFixture = Awaited<ReturnType<typeof openPolicy>>;
