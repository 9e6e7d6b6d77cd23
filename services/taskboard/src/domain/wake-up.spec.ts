import type { EventData, HoldpointEvent } from '@holdpoint/contracts';
import { describe, expect, it } from '@jest/globals';
import { wakeUpAfterDecision, wakeUpAfterExecution, wakeUpTaskId } from './wake-up.js';

const ann = { kind: 'person', id: 'ann' } as const;
const box = { kid: 'k1', iv: 'AAAAAAAAAAAAAAAA', ct: 'AAAA' };
const said = { ...box, ct: 'BBBB' };
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

const executed = (data: Partial<EventData<'tool.executed'>> = {}) =>
  ({
    type: 'tool.executed',
    subject: 'c1',
    time: '2026-01-01T00:00:00.000Z',
    data: { call, status: 'Ok', held: true, result: box, cancelled: false, durationMs: 1, ...data },
  }) as HoldpointEvent<'tool.executed'>;
const decided = (data: Partial<EventData<'approval.decided'>>) =>
  ({
    type: 'approval.decided',
    subject: 'c1',
    time: '2026-01-01T00:00:00.000Z',
    data: { call, number: 42, by: ann, reason: box, cause: 'person', ...data },
  }) as HoldpointEvent<'approval.decided'>;

describe('the wake-up of a held call', () => {
  it('derives its task id from the call', () => expect(wakeUpTaskId('c1')).toBe('wake-c1'));

  it.each([
    ['Ok', 'executed'],
    ['Error', 'executed'],
    ['Denied', 'denied'],
  ] as const)(
    'vercel/ai#17083: tool.executed %s → %s, with the result and what the approver said',
    (status, outcome) => {
      const task = wakeUpAfterExecution(executed({ status }), { number: 42, by: ann, reason: said });
      expect(task?.work).toMatchObject({ conversationId: 'v1', agent: 'writer', principal: ann });
      expect(task?.work.wakeUp).toEqual({
        callId: 'c1',
        number: 42,
        tool: 'Mail',
        action: 'send',
        outcome,
        status,
        settled: false,
        reasonCode: null,
        by: ann,
        result: box,
        reason: said,
      });
    },
  );
  it('says when a person settled a call in doubt, and who', () => {
    const bob = { kind: 'person', id: 'bob' } as const;
    const task = wakeUpAfterExecution(executed({ settledBy: bob }), { number: 42, by: ann, reason: null });
    expect(task?.work.wakeUp).toMatchObject({ settled: true, by: bob });
  });
  it('leaves unknown what could not be read of the decision', () => {
    expect(wakeUpAfterExecution(executed(), null)?.work.wakeUp).toMatchObject({ number: null, by: null, reason: null });
  });
  it('is none for a call that nobody held, and none for a cancelled one', () => {
    expect(wakeUpAfterExecution(executed({ held: false }), null)).toBeNull();
    expect(wakeUpAfterExecution(executed({ cancelled: true }), null)).toBeNull();
  });

  it.each([
    ['rejected', 'person', ann],
    ['expired', 'deadline', null],
    ['withdrawn', 'policy-denied', null],
    ['withdrawn', 'person', ann],
  ] as const)('approval.decided %s (%s) → wake-up with the reason', (decision, cause, by) => {
    const task = wakeUpAfterDecision(decided({ decision, cause, by }));
    expect(task?.work.wakeUp).toMatchObject({ outcome: decision, reasonCode: cause, by, number: 42, reason: box });
  });
  it('is none after an approval, and none when the call was revised', () => {
    expect(wakeUpAfterDecision(decided({ decision: 'approved' }))).toBeNull();
    expect(wakeUpAfterDecision(decided({ decision: 'withdrawn', cause: 'revised' }))).toBeNull();
  });
});
