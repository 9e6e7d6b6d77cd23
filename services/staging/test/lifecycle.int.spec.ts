import type { HoldpointEvent } from '@holdpoint/contracts';
import { newEvent, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { ExpirySweeper } from '../src/expiry-sweeper.js';
import { FrozenCalls } from '../src/store/frozen-calls.js';
import type { StagingDatabase } from '../src/store/schema.js';
import { call, openStaging, type Proposal, type StagingFixture } from './fixture.js';

let fixture: StagingFixture;
let service: Awaited<ReturnType<StagingFixture['start']>>;
beforeAll(async () => {
  fixture = await openStaging();
  service = await fixture.start({ EXPIRY_SWEEP_MS: '50' });
});
afterAll(() => fixture.close());

describe('expiry', () => {
  test('agent-os#1564: an overdue call expires by itself: the deadline did it, no person, in the trace of the call', async () => {
    const traceparent = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
    const { proposal } = await fixture.held({ traceparent }, { expiresAfterSeconds: 1 });
    const { event } = await eventually(() => fixture.decisionOn(proposal.subject));
    expect(event.data).toMatchObject({
      decision: 'expired',
      cause: 'deadline',
      by: null,
      policyVersion: 'version-at-verdict',
    });
    expect(event.traceparent).toBe(traceparent);
    expect(await fixture.rowOf(proposal.subject)).toMatchObject({
      status: 'expired',
      decided_by: null,
      execution: null,
    });
  });

  test('several sweepers expire each call once, and leave alone what somebody is deciding', async () => {
    await service.close();
    const quiet = await fixture.start();
    const held = await Promise.all(Array.from({ length: 30 }, () => fixture.held({}, { expiresAfterSeconds: 1 })));
    for (const { proposal } of held) await fixture.overdue(proposal.subject);
    const busy = held[0]?.proposal.subject as string;

    const superuser = fixture.pool<unknown>('superuser');
    const holder = await superuser.startTransaction().execute();
    await sql`SELECT FROM staging.frozen_calls WHERE call_id = ${busy} FOR UPDATE`.execute(holder);
    const relay = quiet.app.get(OutboxRelay);
    const sweepers = Array.from({ length: 3 }, () => {
      const db = fixture.pool<StagingDatabase>('staging');
      return new ExpirySweeper(db, new FrozenCalls(db), new Outbox('staging'), relay, 1_000);
    });
    const swept = await Promise.all(sweepers.map((s) => s.sweep()));
    expect(swept.reduce((a, b) => a + b)).toBe(29);
    expect(await fixture.rowOf(busy)).toMatchObject({ status: 'pending' });
    await holder.rollback().execute();
    expect(await sweepers[0]?.sweep()).toBe(1);

    for (const { proposal } of held) await eventually(() => fixture.decisionOn(proposal.subject));
    const { rows } = await sql`
      SELECT subject FROM staging.outbox WHERE subject LIKE 'approval.decided.%' GROUP BY subject HAVING count(*) > 1`.execute(
      fixture.superuser,
    );
    expect(rows).toEqual([]);
    await quiet.close();
    service = await fixture.start({ EXPIRY_SWEEP_MS: '50' });
  });
});

describe('what became of a released call', () => {
  type Executed = 'tool.started' | 'tool.in-doubt' | 'tool.executed';
  const data = {
    'tool.started': { attempt: 1, held: true },
    'tool.in-doubt': { attempt: 1, held: true, reason: 'lease-lapsed', note: null },
    'tool.executed': { status: 'Ok', held: true, result: null, cancelled: false, durationMs: 5 },
  } as const;
  const tell = (p: Proposal, type: Executed, more: object = {}) =>
    fixture.engine.publish(
      newEvent(type, {
        spaceId: p.spaceid,
        entityId: p.subject,
        runId: 'run1',
        data: { call: p.data.call, ...data[type], ...more } as HoldpointEvent<Executed>['data'] as never,
      }),
    );
  const approved = async () => {
    const { proposal } = await fixture.held();
    const { status } = await call(service.url, 'olga', `/v1/approvals/${proposal.subject}/decision`, {
      decision: 'approve',
      digest: proposal.data.call.digest,
    });
    expect(status).toBe(200);
    return proposal;
  };
  const becomes = (p: Proposal, expected: object) =>
    eventually(async () => {
      expect(await fixture.rowOf(p.subject)).toMatchObject(expected);
      return true;
    });

  test('waiting → executing → in doubt → closed', async () => {
    const p = await approved();
    await becomes(p, { execution: 'waiting', outcome: null });
    await tell(p, 'tool.started');
    await becomes(p, { execution: 'executing' });
    await tell(p, 'tool.in-doubt');
    await becomes(p, { execution: 'in-doubt', outcome: null });
    await tell(p, 'tool.executed', { settledBy: { kind: 'person', id: 'olga' } });
    await becomes(p, { execution: 'closed', outcome: 'Ok', status: 'approved' });
    expect((await call(service.url, 'mia', `/v1/approvals/${p.subject}`)).body).toMatchObject({
      execution: 'closed',
      outcome: 'Ok',
    });
  });

  test('approved → tool.executed Denied', async () => {
    const p = await approved();
    await tell(p, 'tool.executed', { status: 'Denied', reason: 'approval.lapsed' });
    await becomes(p, { execution: 'closed', outcome: 'Denied' });
  });

  test('in whatever order the events come, the last of the stream’s order counts', async () => {
    const orders: Executed[][] = [
      ['tool.executed', 'tool.in-doubt', 'tool.started'],
      ['tool.in-doubt', 'tool.started', 'tool.executed'],
      ['tool.executed', 'tool.started', 'tool.in-doubt'],
    ];
    const calls = new FrozenCalls(fixture.pool<StagingDatabase>('staging'));
    const inStreamOrder: Executed[] = ['tool.started', 'tool.in-doubt', 'tool.executed'];
    const state = { 'tool.started': 'executing', 'tool.in-doubt': 'in-doubt', 'tool.executed': 'closed' } as const;
    const db = fixture.pool<StagingDatabase>('staging');
    for (const order of orders) {
      const p = await approved();
      for (const type of order)
        await db.transaction().execute((tx) =>
          calls.noteExecution(tx, p.subject, {
            state: state[type],
            seq: 100 + inStreamOrder.indexOf(type),
            outcome: type === 'tool.executed' ? 'Error' : null,
          }),
        );
      expect(await fixture.rowOf(p.subject)).toMatchObject({ execution: 'closed', outcome: 'Error' });
    }
    const p = await approved();
    for (const type of ['tool.in-doubt', 'tool.started'] as const)
      await db.transaction().execute((tx) =>
        calls.noteExecution(tx, p.subject, {
          state: state[type],
          seq: 100 + inStreamOrder.indexOf(type),
          outcome: null,
        }),
      );
    expect(await fixture.rowOf(p.subject)).toMatchObject({ execution: 'in-doubt' });
  });

  test('calls that nobody held are none of staging’s business, and a pending one is not touched', async () => {
    const free = await fixture.draft();
    await tell(free, 'tool.executed', { held: false });
    const { proposal: pending } = await fixture.held();
    await tell(pending, 'tool.executed');
    const p = await approved();
    await tell(p, 'tool.executed');
    await becomes(p, { execution: 'closed' });
    expect(await fixture.rowOf(free.subject)).toBeUndefined();
    expect(await fixture.rowOf(pending.subject)).toMatchObject({ status: 'pending', execution: null });
    expect(await fixture.deadLetters()).toEqual([]);
  });
});

describe('the table holds the rules by itself', () => {
  const as = async (role: 'hp_staging' | 'hp_owner' | 'replica', statement: string) => {
    await fixture.superuser.transaction().execute(async (tx) => {
      await sql
        .raw(role === 'replica' ? 'SET LOCAL session_replication_role = replica' : `SET LOCAL ROLE ${role}`)
        .execute(tx);
      await sql.raw(statement).execute(tx);
    });
  };
  const set = (id: string, assignment: string) =>
    `UPDATE staging.frozen_calls SET ${assignment} WHERE call_id = '${id}'`;
  const frozenColumns = [
    "frozen = '{}'",
    `digest = '${'0'.repeat(64)}'`,
    "tool = 'x'",
    "principal_id = 'eve'",
    "call_id = 'x'",
    'number = 99999',
    "expires_at = expires_at + interval '1 day'",
    "flags = '{}'",
    "rule = 'x'",
  ];

  test('what is frozen cannot be changed: not by the service, not by the owner, not by a replica', async () => {
    const { row } = await fixture.held();
    for (const assignment of frozenColumns) {
      await expect(as('hp_staging', set(row.call_id, assignment))).rejects.toThrow(/permission denied/);
      await expect(as('hp_owner', set(row.call_id, assignment))).rejects.toThrow(/is frozen/);
      await expect(as('replica', set(row.call_id, assignment))).rejects.toThrow(/is frozen/);
    }
  });

  test('nothing is deleted', async () => {
    const { row } = await fixture.held();
    for (const statement of [
      `DELETE FROM staging.frozen_calls WHERE call_id = '${row.call_id}'`,
      'TRUNCATE staging.frozen_calls',
    ]) {
      await expect(as('hp_staging', statement)).rejects.toThrow(/permission denied/);
      await expect(as('hp_owner', statement)).rejects.toThrow(/are kept/);
    }
    await expect(as('hp_staging', 'DELETE FROM staging.counters')).rejects.toThrow(/permission denied/);
    await expect(as('hp_staging', 'ALTER TABLE staging.frozen_calls DISABLE TRIGGER ALL')).rejects.toThrow(
      /must be owner/,
    );
  });

  const APPROVED =
    "status = 'approved', decided_at = staged_at, decided_by = 'olga', cause = 'person', decided_under = 'v', execution = 'waiting'";
  test.each([
    ['approved by nobody', APPROVED.replace("'olga'", 'NULL')],
    ['approved after the deadline', APPROVED.replace('decided_at = staged_at', 'decided_at = expires_at')],
    ['approved without a moment', APPROVED.replace('decided_at = staged_at', 'decided_at = NULL')],
    ['approved by the deadline', APPROVED.replace("'person'", "'deadline'")],
    ['approved, nothing waiting', APPROVED.replace("execution = 'waiting'", 'execution = NULL')],
    ['rejected, yet waiting to run', APPROVED.replace("'approved'", "'rejected'")],
    [
      'expired before the deadline',
      "status = 'expired', decided_at = staged_at, cause = 'deadline', decided_under = 'v'",
    ],
    [
      'expired by a person',
      "status = 'expired', decided_at = expires_at, cause = 'person', decided_by = 'olga', decided_under = 'v'",
    ],
    [
      'withdrawn by the deadline',
      "status = 'withdrawn', decided_at = staged_at, cause = 'deadline', decided_under = 'v'",
    ],
    ['pending, yet decided', "decided_at = staged_at, cause = 'person', decided_by = 'olga', decided_under = 'v'"],
    ['pending, yet executing', "execution = 'executing'"],
    ['closed without outcome', `${APPROVED.replace("'waiting'", "'closed'")}, execution_seq = 1`],
  ])('%s cannot be', async (_, assignment) => {
    const { row } = await fixture.held();
    await expect(as('hp_staging', set(row.call_id, assignment))).rejects.toThrow(/check constraint/);
  });

  test('a closed call stays as it is', async () => {
    const { row } = await fixture.held();
    await as('hp_staging', set(row.call_id, APPROVED));
    for (const assignment of [
      "status = 'pending', decided_at = NULL, decided_by = NULL, cause = NULL, decided_under = NULL, execution = NULL",
      "status = 'rejected', execution = NULL",
      "decided_by = 'eve'",
      "decided_at = decided_at + interval '1 ms'",
    ])
      for (const role of ['hp_staging', 'hp_owner', 'replica'] as const)
        await expect(as(role, set(row.call_id, assignment))).rejects.toThrow(/is decided/);
    await as('hp_staging', set(row.call_id, "execution = 'closed', execution_seq = 9, outcome = 'Ok'"));
    await expect(as('hp_staging', set(row.call_id, "execution = 'executing', outcome = NULL"))).rejects.toThrow(
      /cannot go/,
    );
  });

  test('no call is born decided, and no number is given twice', async () => {
    const { row } = await fixture.held();
    const copy = (change: string) =>
      `INSERT INTO staging.frozen_calls SELECT (jsonb_populate_record(f, '${change}'::jsonb)).* FROM staging.frozen_calls f WHERE call_id = '${row.call_id}'`;
    await expect(as('hp_staging', copy('{"call_id":"copy"}'))).rejects.toThrow(/unique constraint/);
    const decided =
      '{"call_id":"copy","number":77777,"status":"approved","decided_at":"2000-01-01T00:00:00Z","decided_by":"x","cause":"person","decided_under":"v","execution":"waiting"}';
    await expect(as('hp_staging', copy(decided))).rejects.toThrow(/not pending from the start/);
  });

  test('every table says what it is', async () => {
    const { rows } = await sql<{ table: string; says: string }>`
      SELECT relname AS table, obj_description(oid) AS says FROM pg_class
      WHERE relnamespace = 'staging'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'kysely%'`.execute(
      fixture.superuser,
    );
    expect(rows.length).toBeGreaterThanOrEqual(5);
    for (const { says } of rows) expect(says).toMatch(/^(from-stream|derived|ephemeral|backed-up): /);
  });
});
