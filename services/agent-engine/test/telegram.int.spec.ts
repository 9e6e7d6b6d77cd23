import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { newEvent, newId } from '@holdpoint/eventing';
import { eventually, startTelegram, type TestTelegram } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { startEngine, type TestEngine } from './engine.js';
import { scriptOf } from './script.js';

// Telegram as a source of runs: an update is exactly one run, an answer is said at most once.

const [BEN, MALLORY, STRANGER, GROUP] = ['100', '200', '300', '-1009007199254'];
const person = (first_name: string) => ({ type: 'private', first_name });
const script = scriptOf({
  'hello.*': '      - text: hello yourself\n',
  long: `      - text: ${JSON.stringify(`${'word '.repeat(1500)}end`)}\n`,
  'Your action [\\s\\S]*': '      - text: I heard of the decision.\n',
});
const chats = `telegram: { chats: { "${BEN}": ben, "${MALLORY}": mallory, "${GROUP}": cleo } }`;

const startBot = () =>
  startTelegram({
    [BEN]: person('Ben'),
    [MALLORY]: person('Mallory'),
    [STRANGER]: person('Stranger'),
    [GROUP]: { type: 'supergroup', title: 'Accounts' },
  });
const envOf = (telegram: TestTelegram) => ({
  TELEGRAM_BOT_TOKEN: telegram.token,
  TELEGRAM_API_URL: telegram.url,
  TELEGRAM_TIMEOUT_MS: '1000',
});
/** Every run of the chat's conversations, noted with an update or not. */
const runsOf = (engine: TestEngine, chat: string) =>
  engine.db
    .selectFrom('telegram_conversations as t')
    .innerJoin('runs as r', 'r.conversation_id', 't.conversation_id')
    .selectAll('r')
    .where('t.chat_id', '=', chat)
    .where('r.source', '=', 'telegram')
    .orderBy('r.queued_at')
    .execute();

describe('a chat', () => {
  let telegram: TestTelegram;
  let engine: TestEngine;
  beforeAll(async () => {
    telegram = await startBot();
    engine = await startEngine({ script, agents: { clerk: [chats] }, env: envOf(telegram) });
  });
  afterAll(async () => {
    await engine?.stop();
    await telegram.stop();
  });

  const told = (chat: string, count: number) =>
    eventually(
      () => {
        const said = telegram.told(chat);
        if (said.length < count) throw new Error(`chat ${chat} was told ${JSON.stringify(said)}`);
        return said;
      },
      { what: `${count} messages in ${chat}`, timeoutMs: 15_000 },
    );
  const states = () =>
    engine.db.selectFrom('telegram_messages').select(['state', 'run_id']).orderBy('message_id').execute();

  it('starts a run for its person, goes on in its conversation, and is told how each run ended', async () => {
    telegram.write(BEN, { text: 'hello' });
    expect(await told(BEN, 1)).toEqual(['hello yourself']);
    telegram.write(BEN, { text: 'hello again' });
    await told(BEN, 2);
    const [first, second] = await runsOf(engine, BEN);
    expect(first).toMatchObject({ agent: 'clerk', source: 'telegram', principal_kind: 'person', principal_id: 'ben' });
    expect(second?.conversation_id).toBe(first?.conversation_id);
    const queued = await engine.stored('run.queued', first?.run_id ?? '');
    expect(queued.event.data).toMatchObject({ source: 'telegram', principal: { kind: 'person', id: 'ben' } });
    expect(queued.event.data.prompt).toHaveProperty('ct');
  });

  it('hears of decisions later, also of the conversation before /new', async () => {
    telegram.write(BEN, { text: '/new' });
    await told(BEN, 3);
    telegram.write(BEN, { text: 'hello anew' });
    await told(BEN, 4);
    const [old, , fresh] = await runsOf(engine, BEN);
    expect(fresh?.conversation_id).not.toBe(old?.conversation_id);
    await engine.as.taskboard.publish(
      newEvent('task.ready', {
        spaceId: 'acme',
        entityId: `wake-${newId()}`,
        data: {
          attempt: 1,
          leaseUntil: new Date(Date.now() + 60_000).toISOString(),
          work: {
            conversationId: old?.conversation_id ?? '',
            agent: 'clerk',
            principal: { kind: 'person', id: 'ben' },
            wakeUp: {
              callId: newId(),
              number: 7,
              tool: 'Mail',
              action: 'send',
              outcome: 'rejected',
              status: null,
              settled: false,
              reasonCode: null,
              by: { kind: 'person', id: 'ada' },
              result: null,
              reason: null,
            },
          },
        },
      }),
    );
    expect((await told(BEN, 5))[4]).toBe('I heard of the decision.');
  });

  it('is answered without a run where it speaks for nobody, sends no text, or is not known, the last once an hour', async () => {
    telegram.write(MALLORY, { text: 'hello' });
    telegram.write(STRANGER, { text: 'hello' });
    telegram.write(STRANGER, { text: 'hello?' });
    telegram.write(GROUP, { photo: [{}] });
    telegram.write(GROUP, { new_chat_members: [] });
    const last = telegram.write(GROUP, { text: 'a'.repeat(300_000) });
    const [sticker, tooLong] = await told(GROUP, 2);
    expect(sticker).toContain('text messages only');
    expect(tooLong).toContain('too long');
    expect(await told(MALLORY, 1)).toEqual([expect.stringContaining('not a member')]);
    expect(await told(STRANGER, 1)).toEqual([expect.stringContaining(`its id is ${STRANGER}.`)]);
    await eventually(() => telegram.unconfirmed().every((id) => id > last));
    expect(telegram.told(STRANGER)).toHaveLength(1);
    for (const chat of [MALLORY, STRANGER, GROUP]) expect(await runsOf(engine, chat)).toEqual([]);
  });

  it('is told a long end in parts', async () => {
    const before = telegram.told(GROUP).length;
    telegram.write(GROUP, { text: 'long' });
    const parts = (await told(GROUP, before + 2)).slice(before);
    expect(parts.join(' ')).toBe(`${'word '.repeat(1500)}end`);
  });

  it('is told later what certainly was not sent, and never again what may have been', async () => {
    const before = telegram.told(GROUP).length;
    telegram.fail('sendMessage', { with: 'refusal', code: 429, description: 'Too Many Requests', retryAfter: 1 });
    telegram.write(GROUP, { text: 'hello' });
    await told(GROUP, before + 1);

    const requests = telegram.requests.filter((r) => r.method === 'sendMessage').length;
    telegram.fail('sendMessage', { with: 'cut', happens: true }, { with: 'silence' });
    telegram.write(GROUP, { text: 'hello' });
    telegram.write(GROUP, { text: 'hello' });
    await eventually(async () => (await states()).filter((m) => m.state === 'unknown').length === 2);
    telegram.write(GROUP, { text: 'hello' });
    expect(await told(GROUP, before + 3)).toHaveLength(before + 3);
    expect(telegram.requests.filter((r) => r.method === 'sendMessage')).toHaveLength(requests + 3);
  });

  it('starts no second run of an update that comes again, whatever was lost of the position', async () => {
    const id = telegram.write(BEN, { text: 'hello once' });
    await eventually(() => !telegram.unconfirmed().includes(id));
    const before = await runsOf(engine, BEN);
    await engine.db.updateTable('telegram_bots').set({ next_update: id }).execute();
    telegram.write(BEN, { text: 'hello once' }, id);
    const last = telegram.write(BEN, { text: 'hello after' });
    await eventually(() => !telegram.unconfirmed().includes(last));
    expect(await runsOf(engine, BEN)).toHaveLength(before.length + 1);
  });

  it('is heard by one engine of many, and goes on after Telegram was away, busy or cross', async () => {
    await engine.another();
    telegram.fail(
      'getUpdates',
      { with: 'status', code: 502 },
      { with: 'refusal', code: 429, description: 'Too Many Requests', retryAfter: 1 },
      { with: 'cut' },
      { with: 'status', code: 200, body: '{"ok":true,"result":[{}]}' },
    );
    const before = telegram.told(BEN).length;
    telegram.write(BEN, { text: 'hello' });
    telegram.write(BEN, { text: 'hello' });
    await told(BEN, before + 2);
    expect(telegram.conflicts()).toBe(0);
    expect(telegram.complaints).toEqual([]);
    const text = JSON.stringify(await sql`SELECT * FROM outbox`.execute(engine.db));
    expect(text).not.toContain('hello');
    expect(text).not.toContain(telegram.token.split(':')[1]);
  });
});

describe('an engine that dies', () => {
  let telegram: TestTelegram;
  let engine: TestEngine;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    telegram = await startBot();
    engine = await startEngine({ script, agents: { clerk: [chats] }, env: envOf(telegram), elsewhere: true });
  });
  afterAll(async () => {
    for (const c of children) c.kill('SIGKILL');
    await engine?.stop();
    await telegram.stop();
  });
  const start = async () => {
    const child = fork(join(import.meta.dirname, 'attempts', 'engine-process.ts'), {
      env: { PATH: process.env['PATH'], ...engine.env },
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    children.push(child);
    await once(child, 'message');
    return child;
  };

  it('between getUpdates and the commit: each update is exactly one run, and is answered', async () => {
    const first = await start();
    const polls = () => telegram.requests.filter((r) => r.method === 'getUpdates').length;
    await eventually(() => polls() > 0, { timeoutMs: 20_000 });
    const gone = once(first, 'exit');
    await engine.db.transaction().execute(async (tx) => {
      await tx.selectFrom('telegram_bots').selectAll().forUpdate().execute();
      for (let i = 0; i < 3; i++) telegram.write(BEN, { text: `hello ${i}` });
      // it has the updates in hand and waits for the row
      await eventually(async () => {
        const { rows } = await sql<{ n: number }>`
          SELECT count(*)::int AS n FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%telegram_bots%'`.execute(
          engine.db,
        );
        return rows[0]?.n === 1;
      });
      first.kill('SIGKILL');
      await gone;
    });
    await start();
    const runs = await eventually(
      async () => {
        const found = await runsOf(engine, BEN);
        return found.length === 3 && telegram.unconfirmed().length === 0 ? found : undefined;
      },
      { timeoutMs: 20_000 },
    );
    await eventually(() => telegram.told(BEN).length === 3, { timeoutMs: 15_000 });
    expect(new Set(runs.map((r) => r.conversation_id)).size).toBe(1);
    expect(await engine.db.selectFrom('runs').select('run_id').execute()).toHaveLength(3);
  }, 120_000);
});
