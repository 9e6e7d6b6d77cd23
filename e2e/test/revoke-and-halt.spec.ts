import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HaltView, RunView } from '@holdpoint/contracts';
import { newEvent, type Stored } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { type PolicyAndEngine, startPolicyAndEngine } from './policy-and-engine.js';

// A revoke or a halt acts at once (charter, section 4): with many calls that policy has let through and that no engine has
// claimed, none of them runs once the endpoint has answered. Policy and engine are the real ones, in processes of their own.

const UNHELD = 100;
const HELD = 20;
const LATER = 5;
const PURGE = 'FileRW.purge_folder';
const turns = (args: object) => [
  { text: 'I act.', calls: [{ tool: 'FileRW', arguments: JSON.stringify(args) }] },
  { text: 'Done.' },
];
const agent = { space: 'acme', model: 'scripted', script: 'script.yaml', tools: ['FileRW'] };

let s: PolicyAndEngine;
beforeAll(async () => {
  s = await startPolicyAndEngine({
    'script.yaml': JSON.stringify({
      scripts: [
        { when: '^purge$', turns: turns({ action: 'purge_folder', path: 'archive' }) },
        { when: '^write$', turns: turns({ action: 'write', path: 'written.txt', content: 'x' }) },
      ],
    }),
    'holdpoint.yaml': JSON.stringify({
      agents: { helper: agent, asker: agent },
      policy: { rules: [{ tool: 'FileRW', action: 'write', agent: 'asker', verdict: 'approve' }] },
    }),
  });
  const made = await s.policy.api.ask('POST', '/api/v1/spaces', { spaceId: 'acme', name: 'Acme' });
  expect(made.status).toBe(201);
  await eventually(async () => (await allow(PURGE)).status === 200, { what: 'the tools to be announced' });
}, 120_000);
afterAll(() => s?.stop(), 60_000);

const allow = (...allowDestructive: string[]) =>
  s.policy.api.ask('PUT', '/api/v1/spaces/acme/policy', { allowDestructive, acknowledged: true });
const count = async (query: ReturnType<typeof sql>) =>
  ((await query.execute(s.superuser)).rows[0] as { n: number } | undefined)?.n ?? 0;
const patient = (what: string) => ({ what, timeoutMs: 60_000 });

/** The calls of so many runs, one each, once they are proposed. */
async function proposed(prompt: string, runs: number, by = 'helper'): Promise<Stored<'tool.proposed'>[]> {
  const ids = await Promise.all(
    Array.from({ length: runs }, async () => {
      const { status, body } = await s.engine.api.ask('POST', `/v1/agents/${by}/runs`, { prompt });
      expect(status).toBe(202);
      return (body as RunView).id;
    }),
  );
  const calls = await eventually(async () => {
    const { rows } = await sql<{ call_id: string }>`
      SELECT call_id FROM agent_engine.calls WHERE run_id = ANY (${ids}) AND ref IS NOT NULL`.execute(s.superuser);
    return rows.length === runs ? rows : undefined;
  }, patient('the calls'));
  return Promise.all(
    calls.map((c) => eventually(() => s.reader.last('tool.proposed', 'acme', c.call_id), patient('a proposal'))),
  );
}

const idsOf = (calls: Stored<'tool.proposed'>[]) => calls.map((c) => c.event.subject);
const decided = (verdict: string, ids: string[]) =>
  count(sql`SELECT count(*)::int AS n FROM policy.decisions WHERE verdict = ${verdict} AND call_id = ANY (${ids})`);
const claimed = (ids: string[]) =>
  count(sql`SELECT count(*)::int AS n FROM agent_engine.executions WHERE state IN ('executing', 'in-doubt', 'closed')
    AND call_id = ANY (${ids})`);
const outcome = async (callId: string) => {
  const { data } = (await eventually(() => s.reader.last('tool.executed', 'acme', callId), patient('an outcome')))
    .event;
  return `${data.status} ${data.reason ?? ''}`.trim();
};
const outcomes = async (ids: string[]) => [...new Set(await Promise.all(ids.map(outcome)))];
/** Every call ended refused. Most for the reason; what a busy machine could not ask or finish in time is refused as well. */
const refused = async (ids: string[], reason: string) => {
  const ends = await Promise.all(ids.map(outcome));
  expect(ends.filter((end) => !end.startsWith('Denied '))).toEqual([]);
  expect(ends.filter((end) => end === `Denied ${reason}`).length).toBeGreaterThan(ids.length / 2);
};
const startedOf = async (ids: string[]) =>
  (await Promise.all(ids.map((id) => s.reader.last('tool.started', 'acme', id)))).filter((e) => e !== null);

/**
 * Has policy let calls through while the engine is frozen; then the engine goes on, asks policy once more, and waits for the
 * table of claims with the answers in hand, while `tighten` is asked for and answered. The table is free right after that.
 * @returns how long the answer took
 */
async function between(unheld: string[], thaw: () => Promise<void>, tighten: () => Promise<unknown>): Promise<number> {
  s.policy.thaw();
  await eventually(async () => (await decided('auto', unheld)) === unheld.length, patient('the verdicts'));
  expect(await claimed(unheld)).toBe(0);
  return s.superuser.transaction().execute(async (tx) => {
    await sql`LOCK TABLE agent_engine.executions IN EXCLUSIVE MODE`.execute(tx);
    await thaw();
    const waiting = sql`SELECT count(*)::int AS n FROM pg_locks
      WHERE NOT granted AND relation = 'agent_engine.executions'::regclass`;
    await eventually(async () => (await count(waiting)) >= 5, patient('claims that policy lets through'));
    const began = performance.now();
    await tighten();
    const took = performance.now() - began;
    // Whoever was answered before may act upon it for so long.
    expect(took).toBeGreaterThan(1_000);
    return took;
  });
}

describe('with calls between verdict and claim', () => {
  it(`a revoke: of ${UNHELD} calls that were let through and unclaimed, and of later ones, none runs after its answer`, async () => {
    const folder = join(s.workspace, 'archive');
    const fill = async () => {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'file.txt'), 'x');
    };
    await fill();
    expect(await outcomes(idsOf(await proposed('purge', 1)))).toEqual(['Ok']);
    expect(existsSync(folder)).toBe(false);
    await fill();

    s.policy.freeze();
    const calls = idsOf(await proposed('purge', UNHELD));
    s.engine.freeze();
    const took = await between(
      calls,
      async () => void s.engine.thaw(),
      async () => expect(await allow()).toMatchObject({ status: 200, body: { allowDestructive: [] } }),
    );
    console.info(`revoke: answered after ${Math.round(took)} ms, ${UNHELD} calls between verdict and claim`);
    const later = idsOf(await proposed('purge', LATER));
    await refused(calls, 'policy.changed');
    await refused(later, 'destructive-not-allowed');
    expect(await startedOf([...calls, ...later])).toEqual([]);
    expect(await claimed([...calls, ...later])).toBe(0);
    expect(existsSync(join(folder, 'file.txt'))).toBe(true);
  }, 120_000);

  it(`a halt: the same of ${UNHELD} calls; ${HELD} that a person has released wait for its end`, async () => {
    const path = join(s.workspace, 'written.txt');
    expect(await outcomes(idsOf(await proposed('write', 1)))).toEqual(['Ok']);
    await writeFile(path, 'as before');

    const held = await proposed('write', HELD, 'asker');
    await eventually(async () => (await decided('approve', idsOf(held))) === HELD, patient('the holds'));
    s.policy.freeze();
    const calls = idsOf(await proposed('write', UNHELD));
    s.engine.freeze();
    let halt: HaltView | undefined;
    const took = await between(
      calls,
      async () => {
        await Promise.all(held.map((p) => s.asStaging.publish(approvalOf(p))));
        s.engine.thaw();
      },
      async () => {
        const body = { scope: 'space', spaceId: 'acme', reason: 'Look first.' };
        const answer = await s.policy.api.ask('POST', '/api/v1/halts', body);
        expect(answer.status).toBe(201);
        halt = answer.body as HaltView;
      },
    );
    console.info(`halt: answered after ${Math.round(took)} ms, ${UNHELD + HELD} calls between verdict and claim`);
    const later = idsOf(await proposed('write', LATER));
    await refused([...calls, ...later], 'halted');
    const all = [...calls, ...later, ...idsOf(held)];
    expect(await startedOf(all)).toEqual([]);
    expect(await claimed(all)).toBe(0);

    // A halt undoes nothing: what was released is carried out once it is lifted.
    expect((await s.policy.api.ask('POST', `/api/v1/halts/${halt?.id}/lift`, {})).status).toBe(200);
    expect(await outcomes(idsOf(held))).toEqual(['Ok']);
  }, 120_000);
});

/** What staging would publish when a person releases the proposal. */
const approvalOf = ({ event: p }: Stored<'tool.proposed'>) =>
  newEvent('approval.decided', {
    spaceId: p.spaceid,
    entityId: p.subject,
    callId: p.subject,
    runId: p.runid,
    data: {
      call: p.data.call,
      number: 1,
      decision: 'approved',
      by: { kind: 'person', id: 'ada' },
      decidedAt: new Date().toISOString(),
      reason: null,
      cause: 'person',
      policyVersion: 'v1',
      frozen: p.data.frozen,
    },
  });
