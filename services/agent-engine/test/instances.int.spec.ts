import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Runs } from '../src/store/runs.js';
import { startEngine, type TestEngine } from './engine.js';
import { scriptOf, turn } from './script.js';

// Charter section 7: one running run a conversation, in order, over however many engines.

const CONVERSATIONS = 30;
const RUNS = 3;

describe('several engines over one database', () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await startEngine({
      script: scriptOf({
        'first .*': '      - text: begun\n',
        'then.*': '      - text: gone on\n',
        thinks: turn([], { waitMs: 60_000 }),
      }),
      env: { MAX_RUNNING: '4' },
    });
  });
  afterAll(() => engine.stop());

  it('the next run of a conversation is its oldest, also while another engine has that one in its hands', async () => {
    const busy = await Promise.all([0, 1, 2, 3].map(() => engine.run('thinks')));
    await eventually(async () => {
      const states = await Promise.all(
        busy.map(async (id) => (await engine.ask('GET', `/v1/runs/${id}`)).body['state']),
      );
      return states.every((s) => s === 'running');
    });
    const first = await engine.run('first of two');
    const { conversationId } = (await engine.ask('GET', `/v1/runs/${first}`)).body as { conversationId: string };
    await engine.run('then', conversationId);

    const runs = new Runs(engine.db);
    const [mine, theirs] = [await engine.db.startTransaction().execute(), await engine.db.startTransaction().execute()];
    try {
      await mine.selectFrom('runs').select('run_id').where('run_id', '=', first).forUpdate().execute();
      expect(await runs.claim(theirs, 'another')).toBeUndefined();
      await mine.rollback().execute();
      expect((await runs.claim(theirs, 'another'))?.run_id).toBe(first);
    } finally {
      for (const tx of [mine, theirs]) if (!tx.isRolledBack) await tx.rollback().execute();
    }
    await Promise.all(busy.map((id) => engine.ask('POST', `/v1/runs/${id}/cancel`)));
  });

  it(`${CONVERSATIONS} conversations × ${RUNS} runs: each run once, one at a time, in order`, async () => {
    const instances = [engine.app, await engine.another()];
    const at = (n: number) => instances[n % instances.length] as TestEngine['app'];
    const conversations = await Promise.all(
      Array.from({ length: CONVERSATIONS }, async (_, c) => {
        const first = await engine.run(`first ${c}`, undefined, { at: at(c) });
        const { conversationId } = (await engine.ask('GET', `/v1/runs/${first}`)).body as { conversationId: string };
        const ids = [first];
        // asked of either instance, while earlier ones may be under way on the other
        for (let n = 1; n < RUNS; n++) ids.push(await engine.run(`then ${n}`, conversationId, { at: at(c + n) }));
        return { conversationId, ids };
      }),
    );
    const engines = new Set<string>();
    for (const { conversationId, ids } of conversations) {
      for (const id of ids) expect(await engine.ended(id)).toMatchObject({ state: 'ok', conversationId });
      const started = await Promise.all(ids.map((id) => engine.stored('run.started', id)));
      for (const s of started) engines.add(s.event.data.engine);
      // one question and one answer a run, in the order in which they were queued
      const turns = await engine.db
        .selectFrom('turns')
        .select(['run_id', 'role'])
        .where('conversation_id', '=', conversationId)
        .orderBy('position')
        .execute();
      expect(turns).toEqual(
        ids.flatMap((run_id) => [
          { run_id, role: 'user' },
          { run_id, role: 'assistant' },
        ]),
      );
      const rows = await engine.db
        .selectFrom('runs')
        .select(['run_id', 'started_at', 'completed_at', 'steps'])
        .where('conversation_id', '=', conversationId)
        .orderBy('queued_at')
        .execute();
      expect(rows.map((r) => r.run_id)).toEqual(ids);
      for (const [i, row] of rows.entries()) {
        expect(row.steps).toBe(1);
        const before = rows[i - 1];
        if (before) expect(Number(row.started_at)).toBeGreaterThanOrEqual(Number(before.completed_at));
      }
    }
    expect(engines.size).toBe(2);
  });
});
