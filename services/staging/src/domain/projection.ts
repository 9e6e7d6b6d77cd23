import {
  AWAITING,
  answers,
  awaits,
  consumerName,
  type Fact,
  type HoldpointEvent,
  INBOX,
  type Projection,
  type Row,
  type RowKey,
  type Rows,
  took,
} from '@holdpoint/contracts';
import { disagreement } from './admission.js';
import { frozenCallOf } from './frozen-call.js';

/** A proposal that no verdict has answered, and that nobody has given up. */
const PROPOSED = 'proposed';
/** Proposal and verdict of a call that is to be held, until `call.staged`. */
const TO_HOLD = 'to_hold';

interface Proposed {
  seq: number;
  event: HoldpointEvent<'tool.proposed'>;
}
interface ToHold {
  proposal: Proposed['event'];
  verdict: HoldpointEvent<'policy.decided'>;
  verdictSeq: number;
}

const VERDICTS = consumerName('staging', 'policy.decided.>');
const consumer = (event: HoldpointEvent) => consumerName('staging', `${event.type}.>`);

/** Held calls as proposal and verdict froze them, what staging's own events decided, and what the engine told of them. */
export const projection: Projection = {
  tables: [
    { name: 'counters', key: ['space_id'] },
    { name: 'frozen_calls', key: ['call_id'] },
    { name: 'votes', key: ['call_id', 'voter'] },
    INBOX,
  ],
  notes: [PROPOSED, TO_HOLD, AWAITING],

  reads({ event }) {
    const call = event.subject;
    switch (event.type) {
      case 'tool.proposed':
      case 'tool.abandoned':
        return [];
      case 'policy.decided':
        return [
          [PROPOSED, call],
          ['inbox', VERDICTS, event.id],
          [AWAITING, event.id],
        ];
      case 'call.staged':
        return [['frozen_calls', call], ['counters', event.spaceid], [TO_HOLD, call], ...verdictBehind(event)];
      case 'approval.voted':
        return [['votes', call, event.data.by.id]];
      case 'approval.decided':
        return [['frozen_calls', call]];
      case 'tool.started':
      case 'tool.in-doubt':
      case 'tool.executed':
        return event.data.held
          ? [
              ['frozen_calls', call],
              ['inbox', consumer(event), event.id],
            ]
          : [];
      default:
        return [];
    }
  },

  apply(fact, rows) {
    const { event, seq } = fact;
    switch (event.type) {
      case 'tool.proposed':
        return rows.put(PROPOSED, { id: event.subject, value: { seq, event } });
      case 'tool.abandoned':
        // Before its verdict; behind it, this is gone already.
        return rows.remove(PROPOSED, event.subject);
      case 'policy.decided':
        return judged(fact, event, rows);
      case 'call.staged':
        return staged(event, rows);
      case 'approval.voted':
        return voted(event, rows);
      case 'approval.decided':
        return decided(event, rows);
      case 'tool.started':
        return told(fact, event, 'executing', rows);
      case 'tool.in-doubt':
        return told(fact, event, 'in-doubt', rows);
      case 'tool.executed':
        return told(fact, event, 'closed', rows);
      default:
        return;
    }
  },
};

const verdictBehind = ({ causationid }: HoldpointEvent): RowKey[] =>
  causationid === undefined
    ? []
    : [
        ['inbox', VERDICTS, causationid],
        [AWAITING, causationid],
      ];

/** A verdict on another call than the proposed one is a dead letter: nothing comes of it. */
function judged(fact: Fact, verdict: HoldpointEvent<'policy.decided'>, rows: Rows): void {
  const found = rows.get(PROPOSED, verdict.subject)?.['value'] as Proposed | undefined;
  if (found === undefined || fact.seq === null) return;
  rows.remove(PROPOSED, verdict.subject);
  if (verdict.data.verdict !== 'approve' || disagreement({ seq: fact.seq, event: verdict }, found) !== null) return;
  const value: ToHold = { proposal: found.event, verdict, verdictSeq: fact.seq };
  rows.put(TO_HOLD, { id: verdict.subject, value });
  awaits(rows, VERDICTS, fact);
}

function staged(event: HoldpointEvent<'call.staged'>, rows: Rows): void {
  const held = rows.get(TO_HOLD, event.subject)?.['value'] as ToHold | undefined;
  if (held === undefined || rows.get('frozen_calls', event.subject) !== undefined) return;
  const { number, expiresAt } = event.data;
  rows.put('frozen_calls', {
    ...frozenCallOf(held.verdict, held.proposal, held.verdictSeq, number),
    staged_at: event.time,
    expires_at: expiresAt,
    status: 'pending',
  });
  const last = (rows.get('counters', event.spaceid)?.['last'] as number | undefined) ?? 0;
  rows.put('counters', { space_id: event.spaceid, last: Math.max(last, number) });
  rows.remove(TO_HOLD, event.subject);
  answers(rows, event.causationid);
}

function voted({ subject, time, data }: HoldpointEvent<'approval.voted'>, rows: Rows): void {
  const { by, role, groups = [], digestSeen, reason, requirements = null } = data;
  if (role === undefined || rows.get('votes', subject, by.id) !== undefined) return;
  rows.put('votes', {
    call_id: subject,
    voter: by.id,
    role,
    groups,
    digest: digestSeen,
    at: time,
    reason: reason === null ? null : JSON.stringify(reason),
    requirements,
  });
}

function decided({ subject, data }: HoldpointEvent<'approval.decided'>, rows: Rows): void {
  const row = rows.get('frozen_calls', subject);
  if (row?.['status'] !== 'pending') return;
  rows.put('frozen_calls', {
    ...row,
    status: data.decision,
    decided_at: data.decidedAt,
    decided_by: data.by?.id ?? null,
    cause: data.cause,
    decided_under: data.policyVersion,
    reason: data.reason === null ? null : JSON.stringify(data.reason),
    execution: data.decision === 'approved' ? 'waiting' : null,
  });
}

/** What comes first in the stream may be heard of later; the latest news counts, and nothing comes after the end. */
function told(
  fact: Fact,
  event: HoldpointEvent<'tool.started' | 'tool.in-doubt' | 'tool.executed'>,
  execution: 'executing' | 'in-doubt' | 'closed',
  rows: Rows,
): void {
  if (!event.data.held) return;
  const row: Row | undefined = rows.get('frozen_calls', event.subject);
  if (row?.['status'] === 'approved' && row['execution'] !== 'closed')
    rows.put('frozen_calls', {
      ...row,
      execution,
      execution_seq: fact.seq,
      outcome: event.type === 'tool.executed' ? event.data.status : null,
    });
  took(rows, consumer(event), fact);
}
