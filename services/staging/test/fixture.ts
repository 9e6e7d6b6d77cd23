import { randomBytes } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  type CastVote,
  type HoldpointEvent,
  type PolicyCheckReply,
  policyCheckRequest,
  type ServiceName,
} from '@holdpoint/contracts';
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
  type Standing,
  sha256Hex,
} from '@holdpoint/runtime';
import { eventually, startBus, testDatabase } from '@holdpoint/testing';
import { sql } from 'kysely';
import { stagingConfig } from '../src/config.js';
import { StagingModule } from '../src/staging.module.js';
import type { StagingDatabase } from '../src/store/schema.js';

export type Proposal = HoldpointEvent<'tool.proposed'>;
export interface Proposing {
  spaceId?: string;
  conversationId?: string;
  tool?: string;
  agent?: string;
  /** The person that it is proposed on behalf of; mia unless given. */
  principal?: string;
  /** The argument JSON as the model wrote it. */
  args?: string;
  traceparent?: string;
}
export interface Verdict {
  verdict?: 'auto' | 'approve' | 'deny';
  expiresAfterSeconds?: number;
  data?: object;
}

export const TOKENS = {
  olga: 'token-of-olga-the-owner',
  adam: 'token-of-adam-the-admin',
  mia: 'token-of-mia-the-member',
  otto: 'token-of-otto-from-elsewhere',
  engine: 'token-of-the-engine',
};
/** Those of `TOKENS`, and any number of voters that a test lets in. */
export type Person = keyof typeof TOKENS | `v${string}`;
const tokenOf = (id: Person): string => (TOKENS as Record<string, string>)[id] ?? `token-of-${id}`;
const SERVICE_TOKEN = 'token-of-staging-itself';
const person = (id: Person, spaces: object, groups?: Record<string, string[]>) => ({
  id,
  name: id,
  spaces,
  ...(groups && { groups }),
  tokenSha256: sha256Hex(tokenOf(id)),
});
const IDENTITIES = {
  people: [
    person('olga', { acme: 'owner', beta: 'owner' }),
    person('adam', { acme: 'admin' }),
    person('mia', { acme: 'member' }),
    person('otto', { gamma: 'owner' }),
  ],
  services: [{ id: 'agent-engine', tokenSha256: sha256Hex(TOKENS.engine) }],
};

export const ALLOWED: PolicyCheckReply = {
  verdict: 'approve',
  halted: false,
  reason: 'rule',
  rule: 'builtin: Mail.send',
  policyVersion: 'version-at-decision',
};

/** The far end of the second question: holds each question against the contract and answers what the test says. */
async function policyEnd() {
  const end = {
    answer: ALLOWED as PolicyCheckReply | 'garbage' | 'silence' | 'error',
    asked: 0,
    /** Whom policy says to be what, where an issuer is set. */
    members: new Map<string, Standing>(),
    /** The votes that the last question named. */
    votes: [] as CastVote[],
    url: '',
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const server = createServer(async (request, reply) => {
    const asksOf = /^\/internal\/members\/([^/]+)\/spaces$/.exec(request.url ?? '')?.[1];
    if (asksOf !== undefined) {
      reply.writeHead(200, { 'content-type': 'application/json' });
      reply.end(JSON.stringify({ userId: asksOf, ...(end.members.get(asksOf) ?? { spaces: {} }) }));
      return;
    }
    end.asked += 1;
    end.votes = policyCheckRequest.parse(JSON.parse(await text(request))).votes ?? [];
    if (request.headers.authorization !== `Bearer ${SERVICE_TOKEN}`) throw new Error('the question bears no token');
    if (end.answer === 'silence') return;
    reply.writeHead(end.answer === 'error' ? 500 : 200, { 'content-type': 'application/json' });
    reply.end(typeof end.answer === 'string' ? '{"verdict":"auto"}' : JSON.stringify(end.answer));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  end.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return end;
}

/** The staging service on real stores, between an engine and a policy that the test speaks for. Close it when done. */
export async function openStaging() {
  const closers: (() => unknown)[] = [];
  const dir = mkdtempSync(join(tmpdir(), 'holdpoint-staging-'));
  closers.push(() => rmSync(dir, { recursive: true, force: true }));
  const file = (name: string, content: string) => {
    writeFileSync(join(dir, name), content, { mode: 0o600 });
    return join(dir, name);
  };
  const keyFile = file('master.key', randomBytes(32).toString('base64'));
  const identities = file('identities.json', JSON.stringify(IDENTITIES));
  const policy = await policyEnd();
  closers.push(policy.close);

  const server = await startBus();
  closers.push(() => server.stop());
  const database = await testDatabase();
  closers.push(() => database.drop());
  const pool = <T>(role: Parameters<typeof database.url>[0]) => {
    const opened = openDatabase<T>(database.url(role), { max: 4 });
    closers.push(() => opened.destroy());
    return opened;
  };
  const superuser = pool<StagingDatabase>('superuser').withSchema('staging');
  const engineDb = pool<unknown>('agent-engine');
  const keyring = new Keyring(engineDb, MasterKey.fromFile(keyFile));

  const busOf = async (name: ServiceName | 'hub'): Promise<Bus> => {
    const bus = await connectBus({
      servers: server.url,
      ...server.credentials(name),
      name,
      ...(name === 'hub' ? { apiPrefix: '$JS.API' } : {}),
    });
    closers.push(() => bus.close());
    return bus;
  };
  const publisherAs = async (name: ServiceName) => {
    const bus = await busOf(name);
    return new EventPublisher(bus, new StreamReader(bus));
  };
  const [engine, judge] = [await publisherAs('agent-engine'), await publisherAs('policy')];
  const hub = await busOf('hub');
  const reader = new StreamReader(await busOf('staging'));

  const start = async (env: Record<string, string> = {}) => {
    const { user, pass } = server.credentials('staging');
    const config = loadConfig(stagingConfig, {
      DATABASE_URL: database.url('staging'),
      NATS_URL: server.url,
      NATS_USER: user,
      NATS_PASSWORD: pass,
      PORT: '0',
      LOG_LEVEL: 'fatal',
      HOLDPOINT_IDENTITY_FILE: identities,
      HOLDPOINT_SERVICE_TOKEN: SERVICE_TOKEN,
      HOLDPOINT_MASTER_KEY_FILE: keyFile,
      POLICY_URL: policy.url,
      POLICY_TIMEOUT_MS: '10000',
      EXPIRY_SWEEP_MS: '3600000',
      ...env,
    });
    const app = await createService({
      name: 'staging',
      module: StagingModule.forRoot(config),
      config,
      strategy: (a) => a.get(JetStreamServer),
    });
    let open = true;
    const close = async () => {
      if (open) await app.close();
      open = false;
    };
    closers.push(close);
    return { app, url: await app.getUrl(), close };
  };

  /** A proposal, not yet published. */
  const draft = async (p: Proposing = {}): Promise<Proposal> => {
    const { spaceId = 'acme', conversationId = 'talk' } = p;
    const callId = newId();
    await keyring.create(spaceId, conversationId);
    const bytes = Buffer.from(p.args ?? '{"to":"bo@example.org","n":9007199254740993}');
    const nonce = randomBytes(32);
    const context = {
      principal: { kind: 'person' as const, id: p.principal ?? 'mia' },
      agent: p.agent ?? 'assistant',
      server: 'builtin',
      tool: p.tool ?? 'Mail',
      action: 'send',
      schemaDigest: 'a'.repeat(64),
    };
    return newEvent('tool.proposed', {
      spaceId,
      entityId: callId,
      runId: 'run1',
      traceparent: p.traceparent,
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
        hint: 'write',
        scope: 'user',
        executionClass: 'at-most-once',
        origin: 'builtin',
        step: 1,
        index: 0,
      },
    });
  };

  const verdictOn = (proposal: Proposal, proposalSeq: number, v: Verdict = {}) =>
    newEvent('policy.decided', {
      spaceId: proposal.spaceid,
      entityId: proposal.subject,
      runId: 'run1',
      data: {
        call: proposal.data.call,
        verdict: v.verdict ?? 'approve',
        reason: 'rule',
        rule: 'builtin: Mail.send',
        policyVersion: 'version-at-verdict',
        mode: 'enforce',
        flags: ['injection-marker'],
        expiresAfterSeconds: v.expiresAfterSeconds ?? 3600,
        proposalSeq,
        ...v.data,
      },
    });

  /** Publishes the proposal and the verdict on it. */
  const judged = async (proposal: Proposal, v: Verdict = {}) => {
    const { seq } = await engine.publish(proposal);
    const verdict = verdictOn(proposal, seq, v);
    await judge.publish(verdict);
    return verdict;
  };
  const rowOf = (callId: string) =>
    superuser.selectFrom('frozen_calls').selectAll().where('call_id', '=', callId).executeTakeFirst();
  const stagedRow = (callId: string) => eventually(() => rowOf(callId), { what: `a row for ${callId}` });

  return {
    start,
    draft,
    judged,
    verdictOn,
    engine,
    judge,
    reader,
    hub,
    server,
    database,
    policy,
    keyring,
    superuser,
    rowOf,
    stagedRow,
    pool,
    /** Besides those who are always there, these are members of acme from now on, with these groups; null: of nothing. */
    members: (groups: Partial<Record<Person, string[] | null>>) => {
      const people = Object.entries(groups).map(([id, of]) =>
        person(id as Person, of ? { acme: 'member' } : {}, of ? { acme: of } : {}),
      );
      const others = IDENTITIES.people.filter((p) => !(p.id in groups));
      renameSync(file('new.json', JSON.stringify({ ...IDENTITIES, people: [...others, ...people] })), identities);
    },
    /** A call that is held now. A running instance is needed. */
    held: async (p: Proposing = {}, v: Verdict = {}) => {
      const proposal = await draft(p);
      await judged(proposal, v);
      return { proposal, row: await stagedRow(proposal.subject) };
    },
    /** Resolves once the database's clock has passed the call's deadline. */
    overdue: (callId: string) =>
      eventually(
        async () =>
          (
            await superuser
              .selectFrom('frozen_calls')
              .select(sql<boolean>`expires_at <= clock_timestamp()`.as('overdue'))
              .where('call_id', '=', callId)
              .executeTakeFirst()
          )?.overdue,
        { what: 'the deadline' },
      ),
    decisionOn: (callId: string, spaceId = 'acme') => reader.last('approval.decided', spaceId, callId),
    destroyKey: (conversationId: string) =>
      sql`UPDATE keyring.data_keys SET wrapped = NULL, destroyed_at = now() WHERE conversation_id = ${conversationId}`.execute(
        engineDb,
      ),
    deadLetters: () =>
      sql<{
        subject: string;
        last_error: string;
      }>`SELECT subject, last_error FROM staging.dead_letters WHERE state = 'dead'`
        .execute(superuser)
        .then((r) => r.rows),
    close: async () => {
      for (const close of closers.splice(0).reverse()) await close();
    },
  };
}
export type StagingFixture = Awaited<ReturnType<typeof openStaging>>;

/** Calls a route as somebody. */
export async function call(url: string, who: Person | null, path: string, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'content-type': 'application/json',
      ...(who === null ? {} : { authorization: `Bearer ${tokenOf(who)}` }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked at by the test
  return { status: response.status, body: (await response.json()) as any };
}
