import type { HoldpointEvent, RunStatus } from '@holdpoint/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Backoff, cancel, conclude, type Draft, offer, recall, retry } from './decide.js';
import { ATTEMPTS, created, evolve, type Task } from './task.js';

const T0 = Date.parse('2026-01-01T00:00:00.000Z');
const at = (ms: number) => new Date(T0 + ms);
const backoff: Backoff = { baseMs: 10_000, maxMs: 600_000 };
const LEASE = 60_000;
const ann = { kind: 'person', id: 'ann' } as const;

let ids = 0;
const envelope = (type: string, subject: string, ms: number, data: unknown) =>
  ({
    specversion: '1.0',
    id: `e${ids++}`,
    type,
    source: '/holdpoint/test',
    subject,
    time: at(ms).toISOString(),
    datacontenttype: 'application/json',
    dataschema: `urn:holdpoint:event:${type}:1`,
    spaceid: 'acme',
    data,
  }) as never;

const run = <T extends 'run.queued' | 'run.started' | 'run.completed'>(
  type: T,
  attempt: number,
  data: object = {},
  runId = `r${attempt}`,
): HoldpointEvent<T> => envelope(type, runId, 0, { taskId: 'wake-c1', attempt, ...data });
const completed = (attempt: number, status: RunStatus, reason?: string) =>
  run('run.completed', attempt, { status, ...(reason && { reason }) });
const own = (draft: Draft, ms = 0) => envelope(draft.type, 'wake-c1', ms, draft.data) as HoldpointEvent<Draft['type']>;

const fresh = (): Task =>
  created(
    envelope('task.created', 'wake-c1', 0, {
      work: { conversationId: 'v1', agent: 'writer', principal: ann },
      createdBy: ann,
      dueAt: at(0).toISOString(),
    }),
  );
const apply = (task: Task, draft: Draft | null): Task => (draft ? evolve(task, own(draft)) : task);
const offered = () => apply(fresh(), offer(fresh(), at(0), LEASE));
const accepted = () => evolve(offered(), run('run.queued', 1));
const running = () => evolve(accepted(), run('run.started', 1));
const dead = () =>
  apply({ ...running(), attempt: 5 }, conclude({ ...running(), attempt: 5 }, completed(5, 'failed'), at(0), backoff));

describe('charter section 7, row by row', () => {
  it('– → task.created → open', () => {
    expect(fresh()).toMatchObject({ state: 'open', attempt: 1, attemptLimit: 5, leaseUntil: null, runId: null });
  });
  it('open → task.ready (scanner) → offered, under a 60 s lease', () => {
    expect(offered()).toMatchObject({ state: 'offered', attempt: 1, leaseUntil: at(LEASE) });
  });
  it('open, not yet due → no offer', () => {
    expect(offer({ ...fresh(), dueAt: at(1) }, at(0), LEASE)).toBeNull();
  });
  it('offered → run.queued → accepted, without a time-out', () => {
    expect(accepted()).toMatchObject({ state: 'accepted', runId: 'r1', leaseUntil: null });
  });
  it('lapsed and open → run.queued of the same attempt → accepted: the run exists', () => {
    expect(evolve(fresh(), run('run.queued', 1))).toMatchObject({ state: 'accepted', runId: 'r1' });
  });
  it('accepted → run.started → running', () => {
    expect(running()).toMatchObject({ state: 'running', runId: 'r1' });
  });
  it('running → run.completed ok → task.completed → done', () => {
    const draft = conclude(running(), completed(1, 'ok'), at(0), backoff);
    expect(draft).toEqual({ type: 'task.completed', data: { attempt: 1, runId: 'r1' } });
    expect(apply(running(), draft)).toMatchObject({ state: 'done', runId: 'r1' });
  });
  it.each(['failed', 'interrupted'] as const)('running → run.completed %s → task.retried → open, later', (status) => {
    const draft = conclude(running(), completed(1, status, 'model-unavailable'), at(0), backoff);
    expect(draft).toEqual({
      type: 'task.retried',
      data: { attempt: 2, dueAt: at(10_000).toISOString(), reason: 'model-unavailable', by: null },
    });
    expect(apply(running(), draft)).toMatchObject({ state: 'open', attempt: 2, runId: null, dueAt: at(10_000) });
  });
  it('waits longer after each failure, up to the limit', () => {
    const waits = [1, 2, 3, 4].map((attempt) => {
      const draft = conclude({ ...running(), attempt }, completed(attempt, 'failed'), at(0), backoff);
      return draft?.type === 'task.retried' ? Date.parse(draft.data.dueAt) - T0 : null;
    });
    expect(waits).toEqual([10_000, 30_000, 90_000, 270_000]);
  });
  it('running, fifth attempt → run.completed failed → task.died → dead', () => {
    expect(dead()).toMatchObject({ state: 'dead', attempt: 5, reason: 'failed' });
  });
  it('running → run.completed cancelled → task.cancelled → cancelled, by nobody known', () => {
    const draft = conclude(running(), completed(1, 'cancelled'), at(0), backoff);
    expect(draft).toMatchObject({ type: 'task.cancelled', data: { by: { kind: 'unknown' }, runId: 'r1' } });
    expect(apply(running(), draft).state).toBe('cancelled');
  });
  it('dead → task.retried (a person) → open: a new attempt number, and five attempts again', () => {
    const task = apply(dead(), retry(dead(), ann, at(9)));
    expect(task).toMatchObject({ state: 'open', attempt: 6, attemptLimit: 5 + ATTEMPTS, dueAt: at(9) });
    const draft = conclude(task, completed(6, 'failed'), at(0), backoff);
    expect(draft).toMatchObject({ type: 'task.retried', data: { dueAt: at(10_000).toISOString() } });
  });
  it.each([fresh, offered, accepted, running, dead])(
    'unfinished → task.cancelled (a person) → cancelled (%p)',
    (make) => {
      const draft = cancel(make(), ann);
      expect(draft).toMatchObject({ data: { by: ann, runId: make().runId } });
      expect(apply(make(), draft)).toMatchObject({ state: 'cancelled', runId: make().runId });
    },
  );
  it('finished → neither cancelled nor retried', () => {
    const done = apply(running(), conclude(running(), completed(1, 'ok'), at(0), backoff));
    for (const task of [done, apply(running(), cancel(running(), ann))]) {
      expect([cancel(task, ann), retry(task, ann, at(0))]).toEqual([null, null]);
    }
    expect(retry(running(), ann, at(0))).toBeNull();
  });
});

describe('events that come late, twice or in another order', () => {
  it('run.completed before run.started and run.queued: done, and stays done', () => {
    const done = apply(offered(), conclude(offered(), completed(1, 'ok'), at(0), backoff));
    expect(done).toMatchObject({ state: 'done', runId: 'r1' });
    expect(evolve(evolve(done, run('run.started', 1)), run('run.queued', 1))).toBe(done);
  });
  it('run.queued after run.started does not lead back', () => {
    const task = evolve(offered(), run('run.started', 1));
    expect(evolve(task, run('run.queued', 1))).toBe(task);
  });
  it('an event of an earlier attempt changes nothing', () => {
    const second = apply(running(), conclude(running(), completed(1, 'failed'), at(0), backoff));
    expect(evolve(second, run('run.started', 1))).toBe(second);
    expect(conclude(second, completed(1, 'ok'), at(0), backoff)).toBeNull();
  });
  it('cancelled before its run was known → the cancellation is repeated once, naming the run', () => {
    const cancelled = apply(offered(), cancel(offered(), ann));
    const again = recall(cancelled, run('run.queued', 1));
    expect(again).toMatchObject({ type: 'task.cancelled', data: { by: ann, runId: 'r1' } });
    const named = apply(cancelled, again);
    expect(named).toMatchObject({ state: 'cancelled', runId: 'r1', cancelledBy: ann });
    expect(recall(named, run('run.started', 1))).toBeNull();
    expect(recall(running(), run('run.started', 1))).toBeNull();
  });
  it('a run of another task or another space changes nothing', () => {
    expect(evolve(offered(), run('run.queued', 1, { taskId: 'wake-c2' }))).toEqual(offered());
    const foreign = { ...(run('run.queued', 1) as object), spaceid: 'other' } as never;
    expect(evolve(offered(), foreign)).toEqual(offered());
  });

  it('trigger.dev#4164: whatever the order and however often: every task ends as its runs did, and nothing is stuck', () => {
    const outcomes = fc.array(fc.constantFrom<RunStatus>('ok', 'failed', 'interrupted', 'cancelled'), {
      minLength: ATTEMPTS,
      maxLength: ATTEMPTS,
    });
    fc.assert(
      fc.property(outcomes, fc.infiniteStream(fc.nat()), (statuses, picks) => {
        const pick = () => picks.next().value as number;
        let task = fresh();
        const log: HoldpointEvent[] = [];
        const flight: { event: HoldpointEvent<'run.queued' | 'run.started' | 'run.completed'>; times: number }[] = [];
        for (let turn = 0; turn < 500; turn++) {
          const draft = offer(task, at(1e9), LEASE);
          if (draft && (flight.length === 0 || pick() % 3 === 0)) {
            const again = log.some((e) => e.type === 'task.ready' && e.data.attempt === task.attempt);
            task = apply(task, draft);
            log.push(own(draft));
            if (!again)
              for (const event of [
                run('run.queued', task.attempt),
                run('run.started', task.attempt),
                completed(task.attempt, statuses[task.attempt - 1] as RunStatus),
              ])
                flight.push({ event, times: 1 + (pick() % 2) });
          } else if (task.state === 'offered' && pick() % 4 === 0) {
            task = { ...task, state: 'open', leaseUntil: null };
          } else if (flight.length > 0) {
            const i = pick() % flight.length;
            const { event } = flight[i] as (typeof flight)[number];
            if (event.type === 'run.completed') task = apply(task, conclude(task, event, at(0), backoff));
            else task = evolve(task, event);
            if (--(flight[i] as (typeof flight)[number]).times === 0) flight.splice(i, 1);
          } else break;
        }
        const last = statuses.findIndex((s) => s === 'ok' || s === 'cancelled');
        const end = last < 0 ? 'dead' : statuses[last] === 'ok' ? 'done' : 'cancelled';
        expect(task).toMatchObject({ state: end, attempt: last < 0 ? ATTEMPTS : last + 1 });
      }),
      { seed: 7, numRuns: 500 },
    );
  });
});
