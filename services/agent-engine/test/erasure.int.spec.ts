import { Keyring, MasterKey, openDatabase } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../src/store/schema.js';
import { startEngine, type TestEngine } from './engine.js';
import { scriptOf, turn } from './script.js';

// Guarantee G11: erasure is the destruction of a data key, and an event. A hundred conversations, then what is left alone.

const MANY = 100;
let engine: TestEngine;
beforeAll(async () => {
  engine = await startEngine({
    tools: ['FileRW'],
    script: scriptOf({
      hold: turn([{ tool: 'FileRW', arguments: '{"action":"write","path":"a","content":"b"}' }]),
      hello: turn([]),
    }),
    env: { CONTENT_RETENTION_DAYS: '30', RETENTION_SWEEP_MS: '200' },
  });
});
afterAll(() => engine?.stop());

const erase = (body: object, who: 'ada' | 'ben' | 'cleo' | 'mallory' = 'ada') =>
  engine.ask('POST', '/v1/erasures', { spaceId: 'acme', reason: 'asked for', ...body }, { who });
const talk = async (who: 'ada' | 'ben' = 'ada') => {
  const { body } = await engine.ask('POST', '/v1/agents/helper/runs', { prompt: 'hello' }, { who });
  await engine.ended(body['id'] as string);
  return body['conversationId'] as string;
};
/** Every box of the runs of these conversations, opened with a keyring that has nothing in hand. */
async function opened(conversations: string[]): Promise<number> {
  const db = openDatabase<never>(engine.env.DATABASE_URL, { max: 2 });
  const keyring = new Keyring(db as never, MasterKey.fromFile(engine.env.HOLDPOINT_MASTER_KEY_FILE), { cacheMs: 0 });
  const runs = await engine.db.selectFrom('runs').selectAll().where('conversation_id', 'in', conversations).execute();
  let count = 0;
  for (const { run_id: entityId, prompt, result } of runs)
    for (const [field, box] of [
      ['prompt', prompt],
      ['result', result],
    ] as const)
      await keyring.open(JSON.parse(box ?? '{}'), { spaceId: 'acme', entityId, field }).then(
        () => count++,
        () => undefined,
      );
  await db.destroy();
  return count;
}

describe('erasure', () => {
  it(`${MANY} conversations of a person: nothing opens any more, an event for each, once`, async () => {
    const mine = await talk('ada');
    const theirs: string[] = [];
    while (theirs.length < MANY)
      theirs.push(...(await Promise.all(Array.from({ length: MANY / 10 }, () => talk('ben')))));
    expect(await opened(theirs)).toBe(2 * MANY);
    const both = await Promise.all([erase({ personId: 'ben' }), erase({ personId: 'ben' }, 'cleo')]);
    expect(both.map((r) => r.status)).toEqual([200, 200]);
    expect(both.reduce((sum, r) => sum + (r.body['destroyed'] as number), 0)).toBe(MANY);
    expect(await opened(theirs)).toBe(0);
    expect(await opened([mine])).toBe(2);
    const events = await Promise.all(
      theirs.map((id) => eventually(() => engine.reader.last('run.key-destroyed', 'acme', id))),
    );
    expect(new Set(events.map((e) => e.event.data.conversationId))).toEqual(new Set(theirs));
    expect(events[0]?.event.data).toMatchObject({ by: { kind: 'person' }, reason: 'asked for' });
    const { rows } = await sql`SELECT 1 FROM agent_engine.outbox WHERE subject LIKE 'run.key-destroyed.%'`.execute(
      engine.db,
    );
    expect(rows).toHaveLength(MANY);
    expect((await engine.ask('GET', `/v1/conversations/${theirs[0]}`)).status).not.toBe(200);
  }, 120_000);

  it('what runs is left alone and named; once it is over it can be erased', async () => {
    const { body } = await engine.ask('POST', '/v1/agents/helper/runs', { prompt: 'hold' });
    const conversationId = body['conversationId'] as string;
    await engine.calls(body['id'] as string, 1);
    expect((await erase({ conversationId })).body).toEqual({ destroyed: 0, busy: [conversationId] });
    await engine.ask('POST', `/v1/runs/${body['id']}/cancel`, {});
    await engine.ended(body['id'] as string);
    expect((await erase({ conversationId })).body).toEqual({ destroyed: 1, busy: [] });
    expect((await erase({ conversationId })).body).toEqual({ destroyed: 0, busy: [] });
  });

  it('by owners and admins of the space alone, and never by accident of everything', async () => {
    expect((await erase({ everything: true }, 'ben')).status).toBe(403);
    expect((await erase({ everything: true }, 'mallory')).status).toBe(404);
    for (const body of [
      {},
      { everything: true, personId: 'ben' },
      { everything: false },
      { everything: true, reason: ' ' },
    ])
      expect((await erase(body)).status).toBe(400);
  });

  it('what is past its retention is erased by itself; a later run keeps a conversation', async () => {
    const [old, kept, fresh] = await Promise.all([talk(), talk(), talk()]);
    const then = new Date(Date.now() - 31 * 86_400_000);
    const past = openDatabase<Database>(`${engine.superuserUrl}?options=-csearch_path%3Dagent_engine`);
    const set = (table: 'conversations' | 'runs', columns: object, id: string) =>
      past.updateTable(table).set(columns).where('conversation_id', '=', id).execute();
    await set('runs', { queued_at: then, started_at: then, completed_at: then }, old as string);
    for (const id of [kept, old] as string[]) await set('conversations', { created_at: then }, id);
    await past.destroy();
    const event = await eventually(() => engine.reader.last('run.key-destroyed', 'acme', old as string));
    expect(event.event.data).toMatchObject({ by: { kind: 'service', id: 'agent-engine' }, reason: 'retention' });
    expect(await opened([kept, fresh] as string[])).toBe(4);
  });
});
