import { catalogue } from '../events/catalogue.js';
import { callRules } from './call-rules.js';
import { type CallEvent, callRow, callTable } from './call-table.js';
import { type Call, end, isFollowed, type Ledger } from './ledger.js';
import { wakeUpDue } from './wake-up.js';

/** Takes one more event of a call into the ledger and says where charter section 6 forbids it. */
export function acceptCallEvent(ledger: Ledger, e: CallEvent, seq: number) {
  const entity = `call/${e.subject}`;
  const known = ledger.calls.get(e.subject);
  if (known === undefined) return begin(ledger, e, seq);
  if (known === 'cut') return;
  if (!isFollowed(known)) {
    if (known === 'closed' && e.type === 'tool.abandoned') {
      ledger.counts.superseded++;
      ledger.calls.set(e.subject, 'closed-abandoned');
    } else ledger.found('call.closed', seq, entity, `${callRow(e)} after the call had ended`);
    return;
  }

  for (const { code, broken } of callRules) {
    const message = broken(known, e);
    if (message) ledger.found(code, seq, entity, message);
  }
  known.seq = seq;
  const repeated = known.facts.has(e.type);
  if (catalogue[e.type].once) known.facts.add(e.type);
  if (repeated) return ledger.found('call.repeated', seq, entity, `a second ${e.type}`);
  if (!isSuperseded(known, e)) return step(ledger, known, e, seq);
  ledger.counts.superseded++;
  if (known.state === 'abandoned') end(ledger, e.subject, known);
}

function begin(ledger: Ledger, e: CallEvent, seq: number): void {
  const entity = `call/${e.subject}`;
  if (e.runid !== undefined && !ledger.runs.has(e.runid) && !ledger.runsOwed.has(e.runid))
    ledger.runsOwed.set(e.runid, seq);
  if (e.type === 'tool.proposed') {
    ledger.counts.proposed++;
    const { call: ref, hint, executionClass } = e.data;
    ledger.calls.set(e.subject, {
      state: 'proposed',
      seq,
      spaceId: e.spaceid,
      runId: e.runid,
      ref,
      proposalSeq: seq,
      hint,
      executionClass,
      facts: new Set([e.type]),
      released: false,
      held: false,
      number: null,
      expiresAt: null,
      attempt: 0,
      wake: null,
    });
    const run = e.runid === undefined ? undefined : ledger.runs.get(e.runid);
    if (isFollowed(run) && (run.agent !== ref.agent || run.conversationId !== ref.conversationId))
      ledger.found('call.identity', seq, entity, 'another agent or conversation than its run');
    return;
  }
  const refused =
    e.type === 'tool.executed' &&
    (e.data.status === 'Error' || e.data.status === 'NotFound') &&
    !e.data.held &&
    e.data.attempt === undefined &&
    e.data.settledBy === undefined;
  if (refused) ledger.counts.refused++;
  ledger.calls.set(
    e.subject,
    refused ? 'closed' : ledger.withoutBeginning('call.not-proposed', seq, entity, `${callRow(e)} without a proposal`),
  );
}

/** The first of verdict and abandonment counts; the second one is stored, and void. */
const isSuperseded = (call: Call, e: CallEvent) =>
  (e.type === 'tool.abandoned' && call.facts.has('policy.decided')) ||
  (e.type === 'policy.decided' && call.state === 'abandoned');

function step(ledger: Ledger, call: Call, e: CallEvent, seq: number): void {
  const entity = `call/${e.subject}`;
  const to = callTable[call.state][callRow(e)];
  if (to === undefined) {
    ledger.found(faultOf(call, e), seq, entity, `${callRow(e)} while the call is ${call.state}`);
    return;
  }
  call.state = to === 'auto-write' && call.hint === 'read' ? 'auto-read' : to;
  const { counts } = ledger;
  switch (e.type) {
    case 'policy.decided':
      if (e.data.verdict === 'auto') {
        counts.auto++;
        call.released = true;
      } else if (e.data.verdict === 'deny') counts.denied++;
      break;
    case 'tool.abandoned':
      counts.abandoned++;
      break;
    case 'call.staged': {
      counts.held++;
      call.number = e.data.number;
      call.expiresAt = e.data.expiresAt;
      const number = `${e.spaceid}#${e.data.number}`;
      if (ledger.numbers.has(number)) ledger.found('call.staging', seq, entity, `${number} was given out before`);
      ledger.numbers.add(number);
      break;
    }
    case 'approval.decided':
      counts[e.data.decision]++;
      if (e.data.decision === 'approved') call.released = call.held = true;
      break;
    case 'tool.started':
      call.attempt = e.data.attempt;
      break;
    case 'tool.in-doubt':
      counts.inDoubt++;
      break;
    case 'tool.executed':
      counts[e.data.status === 'Denied' ? 'refused' : 'executed']++;
      if (e.data.settledBy) counts.settled++;
      break;
  }
  if (call.state !== 'closed') return;
  call.wake = wakeUpDue(call, e);
  if (call.wake === null) end(ledger, e.subject, call);
}

function faultOf(call: Call, e: CallEvent): string {
  if (call.state === 'abandoned' || call.state === 'closed') return 'call.closed';
  const acts =
    e.type === 'tool.started' ||
    e.type === 'tool.in-doubt' ||
    (e.type === 'tool.executed' && (e.data.status === 'Ok' || e.data.status === 'Error'));
  if (acts && !call.released) return 'call.not-released';
  return acts && call.attempt === 0 ? 'call.not-claimed' : 'call.order';
}
