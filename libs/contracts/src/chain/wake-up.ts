import type { HoldpointEvent } from '../events/catalogue.js';
import type { CallEvent } from './call-table.js';
import { type Call, type DueWakeUp, end, isFollowed, type Ledger } from './ledger.js';

/** What the agent is told now that `e` has closed the call; null for a call that no person released or refused. */
export function wakeUpDue(call: Call, e: CallEvent): DueWakeUp | null {
  if (e.type === 'approval.decided') {
    const { decision, cause } = e.data;
    if (decision === 'approved' || cause === 'revised') return null;
    return { outcome: decision, status: null, settled: false, must: true };
  }
  if (e.type !== 'tool.executed' || !call.held) return null;
  const { status, settledBy, cancelled } = e.data;
  return {
    outcome: status === 'Denied' ? 'denied' : 'executed',
    status,
    settled: settledBy !== undefined,
    must: !cancelled,
  };
}

/**
 * Holds the task that wakes an agent against the call it speaks of. The taskboard acts on stored events alone, so the call
 * has closed at a lower sequence (charter, section 6: one wake-up for each held call).
 */
export function acceptWakeUp(ledger: Ledger, e: HoldpointEvent<'task.created'>, seq: number) {
  const { wakeUp, conversationId, agent, principal } = e.data.work;
  if (wakeUp === undefined) return;
  ledger.counts.woken++;
  const found = (code: string, message: string) => ledger.found(code, seq, `task/${e.subject}`, message);
  const call = ledger.calls.get(wakeUp.callId);
  const which = `call ${wakeUp.callId}`;
  if (call === 'cut') return;
  if (call === undefined) {
    if (!ledger.beheaded) found('wake.unfounded', `${which} was never proposed`);
    return;
  }
  if (!isFollowed(call)) return found('wake.unfounded', `${which} needs no wake-up, or has had one`);
  if (call.wake === null) return found('wake.unfounded', `${which} is ${call.state}, not closed`);

  const { ref, wake } = call;
  const differs =
    (wakeUp.outcome !== wake.outcome && `it says ${wakeUp.outcome}, the stream says ${wake.outcome}`) ||
    (wakeUp.status !== wake.status &&
      !(wake.outcome === 'denied' && wakeUp.status === null) &&
      `it says ${wakeUp.status}, the stream says ${wake.status}`) ||
    (wakeUp.settled !== wake.settled && 'it is wrong about whether a person settled a doubt') ||
    (wakeUp.number !== null && wakeUp.number !== call.number && 'it carries the number of another call') ||
    ((wakeUp.tool !== ref.tool || wakeUp.action !== ref.action) && 'it names another action') ||
    ((e.spaceid !== call.spaceId || conversationId !== ref.conversationId) && 'it wakes another conversation') ||
    (agent !== ref.agent && 'it wakes another agent') ||
    ((principal.kind !== ref.principal.kind || principal.id !== ref.principal.id) && 'it acts on behalf of another');
  if (differs) found('wake.mismatch', `the wake-up of ${which}: ${differs}`);
  end(ledger, wakeUp.callId, call);
}
