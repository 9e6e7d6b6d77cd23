import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { approvalView, page, runView, type Sealed, type SealedField } from '@holdpoint/contracts';
import { type Stack, startStack } from '@holdpoint/local';
import { DATABASE_NAME, databaseUrl } from '@holdpoint/provision';
import { Keyring, MasterKey, openDatabase } from '@holdpoint/runtime';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Kysely, sql } from 'kysely';
import { simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { z } from 'zod';
import { Api, until } from '../src/api.js';
import { startCollector } from './collector.js';

// 40 secrets in arguments, results and errors of a whole running system: used where a person released it, kept nowhere.

const ALPHABETS = [
  'abcdefghijkmnpqrstuvwxyz23456789',
  'ABCDEF0123456789+/=',
  'äöüßéèñ€ÄÖÜ',
  '密码钥匙保险箱安全',
  'Σύνθημαφλξ',
  '🔑🗝️👩‍💼🇩🇪',
  `"'\\<>&%{}$\``,
  'a b\tc\nd',
];
/** Seeded, and not in the order of the alphabet: a value is never a run of its letters. */
const VALUES = Array.from({ length: 40 }, (_, i) => {
  const letters = Array.from(ALPHABETS[i % ALPHABETS.length] as string);
  const length = 8 + ((i * 7) % 33);
  const body = Array.from({ length }, (_, j) => letters[(i * 31 + j * j * 17 + j * 5) % letters.length]).join('');
  return `${i}x${body}z${i}`;
});
const name = (i: number) => `SECRET_${i}`;
const reference = (i: number) => `{{secret:${name(i)}}}`;
/** No declared secret, so nothing scrubs it: what hides it is that content rests sealed. */
const UNDECLARED = 'password=never-declared-hunter2';

const json = (v: string) => JSON.stringify(v).slice(1, -1);
const ENCODINGS: ((v: string) => string)[] = [
  (v) => v,
  encodeURIComponent,
  (v) => Buffer.from(v).toString('base64'),
  (v) => Buffer.from(`x${v}`).toString('base64'),
  (v) => Buffer.from(v).toString('hex'),
  (v) => Array.from(v, (ch) => `&#${ch.codePointAt(0)};`).join(''),
  json,
  (v) => Buffer.from(`xy${v}`).toString('base64url'),
];

describe('secrets in a running system', () => {
  const cleanup: (() => Promise<unknown>)[] = [];
  const mails: Buffer[] = [];
  let stack: Stack;
  let api: Api;
  let collector: Awaited<ReturnType<typeof startCollector>>;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdpoint-secrets-'));
    const home = await mkdtemp(join(tmpdir(), 'holdpoint-secrets-home-'));
    cleanup.push(
      () => rm(folder, { recursive: true, force: true }),
      () => rm(home, { recursive: true, force: true }),
    );
    await chmod(home, 0o711);
    collector = await startCollector();
    cleanup.push(async () => collector.stop());
    await rm(home, { recursive: true });
    await writeConfig(folder);
    const env = {
      HOLDPOINT_CONFIG: join(folder, 'holdpoint.yaml'),
      LOG_LEVEL: 'debug',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '200',
      MAIL_SMTP_URL: `smtp://127.0.0.1:${await mailServer()}`,
      OPENAI_BASE_URL: `http://127.0.0.1:${await echoingModel()}/v1`,
      OPENAI_API_KEY: 'a-key-that-the-endpoint-repeats',
      HOLDPOINT_MODEL: '',
      MODEL_ATTEMPTS: '1',
    };
    stack = await startStack({ home, env, timeoutMs: 240_000 });
    api = new Api({ url: stack.urls.engine, token: stack.people['ada'] ?? '' });
    await mkdir(stack.paths.workspace, { recursive: true });
    await writeFile(
      join(stack.paths.workspace, 'loot.txt'),
      VALUES.flatMap((v) => [v, Buffer.from(v).toString('base64'), JSON.stringify({ v })]).join('\n'),
    );
  }, 250_000);
  afterAll(async () => {
    await stack?.stop();
    for (const c of cleanup.reverse()) await c();
  }, 120_000);

  const play = async (agent: string, prompt: string) => {
    const { status, body } = await api.ask('POST', `/v1/agents/${agent}/runs`, { prompt });
    expect([prompt, status]).toEqual([prompt, 202]);
    return until('the end of a run', async () => {
      const run = await api.get(`/v1/runs/${(body as { id: string }).id}`, runView);
      return run.completedAt === null ? undefined : run;
    });
  };
  const said = async (conversationId: string) =>
    JSON.stringify((await api.ask('GET', `/v1/conversations/${conversationId}`)).body);
  const release = async (count: number) => {
    const staging = new Api({ url: stack.urls.staging, token: stack.people['ada'] ?? '' });
    const pending = await until(`${count} held calls`, async () => {
      const { items } = await staging.get('/v1/approvals?status=pending', page(z.object({ id: z.string() })));
      return items.length === count ? items : undefined;
    });
    for (const item of pending) {
      const { id, digest, arguments: shown } = await staging.get(`/v1/approvals/${item.id}`, approvalView);
      expect(shown).toContain(reference(0));
      const { status } = await staging.ask('POST', `/v1/approvals/${id}/decision`, { decision: 'approve', digest });
      expect(status).toBe(200);
    }
  };

  it('a value in arguments, in any spelling, is refused before it is proposed', async () => {
    const run = await play('clerk', 'literals');
    const told = await said(run.conversationId);
    expect(told.match(/They contain the value of a secret/g)).toHaveLength(VALUES.length);
  }, 120_000);

  it('references that a person released become values for the mail server alone; its errors are scrubbed', async () => {
    await play('clerk', 'mail');
    await play('clerk', 'bounce');
    await release(2);
    const sent = await until('the mails', async () => (mails.length === 2 ? mails : undefined));
    const texts = await Promise.all(sent.map(async (m) => (await simpleParser(m)).text));
    const whole = texts.find((t) => t?.startsWith('All of them')) ?? '';
    for (const [i, v] of VALUES.entries()) expect(whole).toContain(`${i}: ${v.replaceAll('\r\n', '\n')}\n`);
  }, 120_000);

  it('a file that is read, an answer of a model, and what people ask, are kept without the values', async () => {
    const read = await said((await play('clerk', 'read')).conversationId);
    for (const i of VALUES.keys()) expect(read).toContain(reference(i));
    const failed = await play('echo', 'anything');
    expect(failed.result).toMatch(/it answered 400: .*\{\{secret:SECRET_0\}\}/);
    await play('clerk', 'undeclared');
    for (const v of VALUES)
      expect((await api.ask('POST', '/v1/agents/clerk/runs', { prompt: `use ${v}` })).status).toBe(422);
  }, 120_000);

  it('no content holds a value, even sealed', async () => {
    const kept = await openedContent(stack);
    const all = kept.join('\n');
    expect(kept.length).toBeGreaterThan(100);
    // the search can find: what is not declared is there, and so are the references
    expect(all).toContain(UNDECLARED);
    expect(all).toContain(reference(39));
    const found = VALUES.flatMap((v, i) =>
      spellings(v)
        .filter((s) => all.includes(s))
        .map((s) => `${i}: ${s}`),
    );
    expect(found).toEqual([]);
  });

  it('no file of the database, the bus and the logs holds a value, nor what is not declared, and no exported trace', async () => {
    await stack.stop();
    const traces = await mkdtemp(join(tmpdir(), 'holdpoint-secrets-traces-'));
    cleanup.push(() => rm(traces, { recursive: true }));
    await writeFile(join(traces, 'exported.json'), collector.raw());
    const spans = collector.spans();
    expect(new Set(spans.map((s) => s.service)).size).toBeGreaterThanOrEqual(4);
    expect(spans.filter((s) => s.attributes['gen_ai.tool.name'] === 'Mail').length).toBeGreaterThan(0);
    const needles = [...VALUES.flatMap(spellings), ...spellings(UNDECLARED), 'a-key-that-the-endpoint-repeats'];
    const { postgres, nats, logs, run } = stack.paths;
    expect(await holding([postgres, nats, logs, run, traces], needles)).toEqual([]);
    // the search can find
    expect(await holding([nats], ['arguments.secret-literal'])).not.toEqual([]);
    expect(await holding([traces], ['FileRW'])).not.toEqual([]);
    expect(await holding([join(stack.home, 'demo')], needles)).not.toEqual([]);
  }, 120_000);

  async function mailServer(): Promise<number> {
    const server = new SMTPServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      logger: false,
      onData(stream, session, accepted) {
        void buffer(stream).then(async (mail) => {
          mails.push(mail);
          if (!session.envelope.rcptTo.some((r) => r.address.startsWith('bounce'))) return accepted(null);
          const { text = '' } = await simpleParser(mail);
          accepted(Object.assign(new Error(`not wanted: ${text.replaceAll('\n', ' ')}`), { responseCode: 550 }));
        });
      },
    });
    server.listen(0, '127.0.0.1');
    await once(server.server, 'listening');
    cleanup.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
    return (server.server.address() as AddressInfo).port;
  }

  async function echoingModel(): Promise<number> {
    const server = createServer((request, response) => {
      const message = [request.headers.authorization, ...VALUES].join(' ');
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanup.push(() => new Promise((resolve) => server.close(resolve)));
    return (server.address() as AddressInfo).port;
  }
});

async function writeConfig(folder: string): Promise<void> {
  await mkdir(join(folder, 'values'));
  await Promise.all(VALUES.map((v, i) => writeFile(join(folder, 'values', name(i)), v)));
  const call = (tool: string, args: object) => ({ tool, arguments: JSON.stringify(args) });
  const mail = (to: string, body: string) => call('Mail', { action: 'send', to: [to], subject: 'Codes', body });
  const script = (when: string, calls: object[]) => ({
    when: `^${when}$`,
    turns: [{ text: 'I act.', calls }, { text: 'Done.' }],
  });
  const scripts = [
    script(
      'literals',
      VALUES.map((v, i) =>
        call('FileRW', { action: 'write', path: 'x.txt', content: ENCODINGS[i % ENCODINGS.length]?.(v) }),
      ),
    ),
    script('mail', [
      mail('a@example.test', `All of them\n${VALUES.map((_, i) => `${i}: ${reference(i)}\n`).join('')}`),
    ]),
    script('bounce', [
      mail(
        'bounce@example.test',
        VALUES.slice(0, 6)
          .map((_, i) => reference(i))
          .join(' '),
      ),
    ]),
    script('read', [call('FileRW', { action: 'read', path: 'loot.txt' })]),
    script('undeclared', [call('FileRW', { action: 'write', path: 'y.txt', content: UNDECLARED })]),
    { when: '.', turns: [{ text: 'Understood.' }] },
  ];
  const allow = [{ tool: 'Mail', action: 'send', field: 'body' }];
  const config = {
    agents: {
      clerk: { space: 'acme', model: 'scripted', script: 'script.yaml', tools: ['Mail', 'FileRW'] },
      echo: { space: 'acme', model: 'openai/echo', tools: [] },
    },
    secrets: Object.fromEntries(VALUES.map((_, i) => [name(i), { file: join('values', name(i)), allow }])),
  };
  await writeFile(join(folder, 'script.yaml'), JSON.stringify({ scripts }));
  await writeFile(join(folder, 'holdpoint.yaml'), JSON.stringify(config));
}

/** Every box of every table that opens, opened. */
async function openedContent(stack: Stack): Promise<string[]> {
  const { superuser } = JSON.parse(await readFile(stack.paths.secrets, 'utf8')) as { superuser: string };
  const [, , , port] = (await readFile(join(stack.paths.postgres, 'postmaster.pid'), 'utf8')).split('\n');
  const root = `postgres://postgres:${encodeURIComponent(superuser)}@127.0.0.1:${port}/postgres`;
  const db = openDatabase<never>(databaseUrl(root, DATABASE_NAME), { max: 4 }) as unknown as Kysely<unknown>;
  const keyring = new Keyring(db as never, MasterKey.fromFile(stack.paths.masterKey));
  const texts: string[] = [];
  const open = async (box: Sealed, entityId: string, field: SealedField) => {
    const at = { spaceId: 'acme', entityId, field };
    const bytes = await keyring.open(box, at).catch(() => undefined);
    if (bytes) texts.push(Buffer.from(bytes).toString('utf8'));
  };
  try {
    const events = await sql<{ body: Buffer }>`SELECT body FROM audit.event_log`.execute(db);
    for (const { body } of events.rows) {
      const event = JSON.parse(body.toString()) as { subject: string; data: Record<string, unknown> };
      for (const [field, box] of Object.entries(event.data))
        if (box !== null && typeof box === 'object' && 'ct' in box)
          await open(box as Sealed, event.subject, field as SealedField);
    }
    const turns = await sql<{
      id: string;
      content: string;
    }>`SELECT conversation_id AS id, content FROM agent_engine.turns ORDER BY position`.execute(db);
    for (const { id, content } of turns.rows)
      for (const box of JSON.parse(content) as Sealed[]) await open(box, id, 'turn');
    const calls = await sql<{
      id: string;
      answer: string;
    }>`SELECT call_id AS id, answer FROM agent_engine.calls WHERE answer IS NOT NULL`.execute(db);
    for (const { id, answer } of calls.rows) await open(JSON.parse(answer) as Sealed, id, 'turn');
  } finally {
    await db.destroy();
  }
  return texts;
}

/** In base64 the characters that depend on nothing beside the value. */
function spellings(v: string): string[] {
  const base64 = [0, 1, 2].flatMap((shift) => {
    const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(v)]);
    const inner = (encoding: 'base64' | 'base64url') =>
      bytes.toString(encoding).slice(shift === 0 ? 0 : 4, Math.floor(bytes.length / 3) * 4);
    return [inner('base64'), inner('base64url')];
  });
  const hex = Buffer.from(v).toString('hex');
  return [
    ...new Set([
      v,
      json(v),
      json(json(v)),
      encodeURIComponent(v),
      hex,
      hex.toUpperCase(),
      Array.from(v, (ch) => `&#${ch.codePointAt(0)};`).join(''),
      ...base64,
    ]),
  ];
}

/** Files below the folders whose bytes hold one of the texts, or of a text of several lines its longest one. */
async function holding(folders: string[], texts: string[]): Promise<string[]> {
  const patterns = texts
    .map((t) => t.split('\n').sort((a, b) => b.length - a.length)[0] ?? '')
    .filter((p) => p.length >= 6);
  const file = join(await mkdtemp(join(tmpdir(), 'holdpoint-needles-')), 'needles');
  await writeFile(file, `${patterns.join('\n')}\n`);
  try {
    return await new Promise((resolve, reject) =>
      execFile('grep', ['-rlaF', '-f', file, ...folders], { env: { ...process.env, LC_ALL: 'C' } }, (error, stdout) =>
        error && error.code !== 1 ? reject(error) : resolve(stdout.split('\n').filter(Boolean)),
      ),
    );
  } finally {
    await rm(join(file, '..'), { recursive: true });
  }
}
