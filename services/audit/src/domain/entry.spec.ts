import type { EventData, EventType, HoldpointEvent } from '@holdpoint/contracts';
import { describe, expect, it } from '@jest/globals';
import { type CallFacts, entryFor, NOTHING_KNOWN } from './entry.js';
import { receiptFor } from './receipt.js';
import { cut } from './words.js';

const ann = { kind: 'person', id: 'ann' } as const;
const box = { kid: 'k1', iv: 'AAAAAAAAAAAAAAAA', ct: 'AAAA' };
const call = {
  agent: 'writer',
  model: 'scripted',
  source: 'webview',
  principal: ann,
  conversationId: 'v1',
  server: 'holdpoint',
  tool: 'Mail',
  action: 'send',
  schemaDigest: '0'.repeat(64),
  digest: '1'.repeat(64),
} as const;
const event = <T extends EventType>(type: T, data: object): HoldpointEvent<T> =>
  ({ type, subject: 'c1', spaceid: 'acme', callid: 'c1', runid: 'r1', data }) as unknown as HoldpointEvent<T>;
const executed = (data: Partial<EventData<'tool.executed'>> = {}) =>
  event('tool.executed', { call, status: 'Ok', held: false, result: box, cancelled: false, durationMs: 1, ...data });
const abandoned = (reason: EventData<'tool.abandoned'>['reason']) => event('tool.abandoned', { call, reason });
const decided = (data: object) =>
  event('approval.decided', {
    call,
    number: 42,
    decision: 'approved',
    by: ann,
    reason: null,
    cause: 'person',
    ...data,
  });

const proposed: CallFacts = { ...NOTHING_KNOWN, proposal: { seq: 3, runId: 'r1' } };

describe('the outcome of a call (seed 003)', () => {
  it.each(['Ok', 'Error', 'Denied', 'NotFound'] as const)('%s', (status) => {
    expect(entryFor(executed({ status }), 9, proposed)).toMatchObject({
      kind: 'outcome',
      status,
      source: 'webview',
      model: 'scripted',
      principal: ann,
      argumentsSeq: 3,
    });
  });
  it('names the event that carries the arguments of a call that was refused before it was proposed', () => {
    expect(entryFor(executed({ status: 'Error', arguments: box }), 9, NOTHING_KNOWN)?.argumentsSeq).toBe(9);
    expect(entryFor(executed({ status: 'Error' }), 9, NOTHING_KNOWN)?.argumentsSeq).toBeNull();
  });
  it('names no proposal that stands behind it', () => {
    const later = { ...NOTHING_KNOWN, proposal: { seq: 10, runId: 'r1' } };
    expect(entryFor(executed(), 9, later)?.argumentsSeq).toBeNull();
  });
  it('says when it was released, settled, or cancelled after it began', () => {
    expect(entryFor(executed({ held: true }), 9, proposed)?.note).toBe('released by a person');
    expect(entryFor(executed({ held: true, settledBy: ann }), 9, proposed)?.note).toBe(
      'released by a person; settled by ann',
    );
    expect(entryFor(executed({ cancelled: true }), 9, proposed)?.note).toBe('the run was cancelled');
  });
  it('cancelled before it started: none; once its effect could have begun: one', () => {
    const denied = executed({ status: 'Denied', cancelled: true });
    expect(entryFor(denied, 9, proposed)).toBeNull();
    expect(entryFor(denied, 9, { ...proposed, startedSeq: 8 })?.status).toBe('Denied');
    expect(entryFor(denied, 9, { ...proposed, startedSeq: 10 })).toBeNull();
    expect(entryFor(executed({ status: 'Error', cancelled: true }), 9, proposed)?.status).toBe('Error');
  });
  it('a held call always has its outcome', () => {
    expect(entryFor(executed({ status: 'Denied', cancelled: true, held: true }), 9, proposed)?.status).toBe('Denied');
  });
});

describe('a proposal that was given up', () => {
  it.each(['no-verdict', 'engine-lost'] as const)('%s → Denied', (reason) => {
    const entry = entryFor(abandoned(reason), 9, proposed);
    expect(entry).toMatchObject({ kind: 'outcome', status: 'Denied', argumentsSeq: 3 });
    expect(entry?.note).toMatch(new RegExp(`^${reason}`));
  });
  it('cancelled → none', () => expect(entryFor(abandoned('cancelled'), 9, proposed)).toBeNull());
  it('after its verdict → none: the verdict counts, and the outcome follows', () => {
    expect(entryFor(abandoned('engine-lost'), 9, { ...proposed, verdictSeq: 8 })).toBeNull();
    expect(entryFor(abandoned('no-verdict'), 9, { ...proposed, verdictSeq: 10 })?.status).toBe('Denied');
  });
});

describe('staging and decision', () => {
  it('Staged, under its number', () => {
    const staged = event('call.staged', { call, number: 42, rule: 'builtin: Mail.send', flags: ['injection'] });
    const entry = entryFor(staged, 5, proposed);
    expect(entry).toMatchObject({ kind: 'staging', status: 'Staged', source: 'webview' });
    expect(entry?.note).toBe('held as acme#42; builtin: Mail.send; flags: injection');
  });
  it.each([
    [{ decision: 'approved' }, 'Ok', 'approved by ann', ann],
    [{ decision: 'rejected', reason: box }, 'Denied', 'rejected by ann', ann],
    [
      { decision: 'expired', by: null, cause: 'deadline' },
      'Denied',
      'expired; deadline',
      { kind: 'service', id: 'staging' },
    ],
    [
      { decision: 'withdrawn', by: null, cause: 'policy-denied' },
      'Denied',
      'withdrawn; policy-denied',
      { kind: 'service', id: 'policy' },
    ],
    [{ decision: 'withdrawn', cause: 'revised' }, 'Denied', 'withdrawn by ann; revised', ann],
    [{ decision: 'withdrawn', reason: box }, 'Denied', 'withdrawn by ann', ann],
  ])('%j → %s, "%s", source approval', (data, status, note, principal) => {
    const entry = entryFor(decided(data), 7, proposed);
    expect(entry).toMatchObject({ kind: 'decision', source: 'approval', model: 'scripted', status, note, principal });
    expect(entry?.noteSeq).toBe('reason' in data ? 7 : null);
  });
});

describe('provenance', () => {
  it('unknown stays unknown', () => {
    const unknown = {
      ...call,
      model: 'unknown',
      source: 'unknown',
      principal: { kind: 'unknown', id: 'unknown' },
    } as const;
    expect(entryFor(executed({ call: unknown }), 9, NOTHING_KNOWN)).toMatchObject({
      model: 'unknown',
      source: 'unknown',
      principal: { kind: 'unknown' },
    });
    const noRun = { ...executed(), runid: undefined } as unknown as HoldpointEvent<'tool.executed'>;
    expect(entryFor(noRun, 9, NOTHING_KNOWN)?.runId).toBeNull();
    expect(entryFor(noRun, 9, proposed)?.runId).toBe('r1');
  });
});

describe('a receipt', () => {
  const usage = { promptTokens: 1, completionTokens: 2, cachedTokens: 0 };
  const completed = (cost: object, result: object | null = box) =>
    ({
      type: 'run.completed',
      subject: 'r1',
      spaceid: 'acme',
      data: { ...call, taskId: 'wake-c0', attempt: 2, status: 'ok', steps: 3, usage, cost, result, durationMs: 9 },
    }) as unknown as HoldpointEvent<'run.completed'>;
  it('carries task, attempt, tokens, cost and where the result is', () => {
    expect(receiptFor(completed({ amount: '0.0120', known: true }), 8)).toMatchObject({
      runId: 'r1',
      taskId: 'wake-c0',
      attempt: 2,
      usage,
      cost: { amount: '0.0120', known: true },
      resultSeq: 8,
    });
    expect(receiptFor(completed({ amount: '0', known: false }, null), 8).resultSeq).toBeNull();
  });
  it('a cost that is no number is not known', () => {
    expect(receiptFor(completed({ amount: '1e9; drop', known: true }), 8).cost).toEqual({ amount: '0', known: false });
  });
});

describe('cut', () => {
  it('keeps to the length and never halves a character', () => {
    expect(cut('abcdef', 6)).toBe('abcdef');
    expect(cut('abcdefg', 6)).toBe('abcde…');
    expect(cut('abcd😀fg', 6)).toBe('abcd…');
  });
});
