import {
  AWAITING,
  type Awaiting,
  answers,
  awaits,
  type CallRef,
  consumerName,
  type ExecutionClass,
  type Fact,
  type HoldpointEvent,
  INBOX,
  type Projection,
  type Row,
  type RowKey,
  type Rows,
  took,
} from '@holdpoint/contracts';

/** Of a task and an attempt: its run was queued. */
const QUEUED = 'queued';
const OFFERS = consumerName('agent-engine', 'task.ready.>');
const CANCELLATIONS = consumerName('agent-engine', 'task.cancelled.>');
const APPROVALS = consumerName('agent-engine', 'approval.decided.>');

const offered = (task: string, attempt: number): string => `${task} ${attempt}`;
/** A release is answered by the call's start or end, whichever event that is. */
const released = (call: string): string => `released ${call}`;

/**
 * Claims, as the events of their calls tell them. A claim that is executing was made by an engine that is gone: it gets a
 * fence that nobody has and a lease that is over, and further attempts or a doubt follow as after any lost engine. Attempts
 * have no events after the first, so that theirs is the number of the last one that is known.
 */
export const projection: Projection = {
  tables: [
    {
      name: 'executions',
      key: ['call_id'],
      untold: [
        'fence',
        'lease_until',
        'timeout_ms',
        'retry_at',
        'answer_until',
        'traceparent',
        'claimed_at',
        'changed_at',
      ],
      // As text it has the order of keys that it was written in.
      comparedAs: { ref: 'ref::jsonb' },
      computed: {
        attempt: 'greatest(attempt, (SELECT max(a.attempt) FROM agent_engine.attempts a WHERE a.call_id = t.call_id))',
      },
    },
    {
      name: 'announced_tools',
      key: ['space_id', 'server', 'tool'],
      untold: ['announced_at'],
      comparedAs: { announced: 'announced::jsonb' },
    },
    INBOX,
  ],
  notes: [QUEUED, AWAITING],

  reads({ event }) {
    const { subject, id, causationid } = event;
    switch (event.type) {
      case 'tool.started':
      case 'tool.in-doubt':
      case 'tool.executed':
        return [['executions', subject]];
      case 'approval.decided':
        return [['executions', subject]];
      case 'task.ready':
        return [
          [QUEUED, offered(subject, event.data.attempt)],
          ['inbox', OFFERS, id],
          [AWAITING, id],
        ];
      case 'task.cancelled':
        return [['inbox', CANCELLATIONS, id]];
      case 'run.queued':
        return causationid === undefined
          ? []
          : ([
              ['inbox', OFFERS, causationid],
              [AWAITING, causationid],
            ] satisfies RowKey[]);
      default:
        return [];
    }
  },

  apply(fact, rows) {
    const { event } = fact;
    switch (event.type) {
      case 'tool.started':
        return started(event, fact.streamTime, rows);
      case 'tool.in-doubt':
        return inDoubt(event, rows);
      case 'tool.executed':
        return executed(event, fact.streamTime, rows);
      case 'approval.decided':
        return decided(fact, event, rows);
      case 'tool.announced':
        return rows.put('announced_tools', {
          space_id: event.spaceid,
          server: event.data.server,
          tool: event.data.tool,
          announced: JSON.stringify(event.data),
          announced_at: event.time,
        });
      case 'task.ready':
        if (projection.isMoot?.(fact, rows)) took(rows, OFFERS, fact);
        else awaits(rows, OFFERS, fact);
        return;
      case 'task.cancelled':
        return took(rows, CANCELLATIONS, fact);
      case 'run.queued': {
        const { taskId, attempt } = event.data;
        if (taskId === undefined || attempt === undefined) return;
        rows.put(QUEUED, { id: offered(taskId, attempt), value: true });
        return answers(rows, event.causationid);
      }
      default:
        return;
    }
  },

  /** An attempt that was offered twice has one run. */
  isMoot: ({ event }, rows) =>
    event.type === 'task.ready' && rows.get(QUEUED, offered(event.subject, event.data.attempt)) !== undefined,
};

interface Claimed {
  call: CallRef;
  held: boolean;
  attempt: number;
  state: 'executing' | 'refused' | 'abandoned';
  executionClass: ExecutionClass;
}

function claim(event: HoldpointEvent, at: Date, claimed: Claimed, rows: Rows): void {
  rows.put('executions', {
    call_id: event.subject,
    space_id: event.spaceid,
    run_id: event.runid ?? event.subject,
    ref: JSON.stringify(claimed.call),
    held: claimed.held,
    state: claimed.state,
    attempt: claimed.attempt,
    execution_class: claimed.executionClass,
    fence: `rebuilt-${event.id}`,
    lease_until: at.toISOString(),
    timeout_ms: 1,
    claimed_at: at.toISOString(),
    changed_at: at.toISOString(),
    traceparent: event.traceparent ?? null,
  });
}

function started(event: HoldpointEvent<'tool.started'>, at: Date, rows: Rows): void {
  const { call, attempt, held, executionClass = 'at-most-once' } = event.data;
  if (rows.get('executions', event.subject) === undefined)
    claim(event, at, { call, attempt, held, state: 'executing', executionClass }, rows);
  rows.remove(AWAITING, released(event.subject));
}

function inDoubt({ subject, data }: HoldpointEvent<'tool.in-doubt'>, rows: Rows): void {
  const row = rows.get('executions', subject);
  if (row?.['state'] !== 'executing') return;
  rows.put('executions', { ...row, state: 'in-doubt', attempt: data.attempt, doubt_reason: data.reason });
}

/** The end of what was begun, or the claim of what never will be. Reads and calls that policy denied claim nothing. */
function executed(event: HoldpointEvent<'tool.executed'>, at: Date, rows: Rows): void {
  const { call, held, attempt, forgone } = event.data;
  const row: Row | undefined = rows.get('executions', event.subject);
  if (row !== undefined && ['executing', 'in-doubt'].includes(String(row['state'])))
    rows.put('executions', { ...row, state: 'closed', attempt: attempt ?? row['attempt'], doubt_reason: null });
  // A released call was refused by a claim also where an older event does not say so.
  else if (row === undefined && (forgone !== undefined || held))
    claim(event, at, { call, held, attempt: 1, state: forgone ?? 'refused', executionClass: 'at-most-once' }, rows);
  rows.remove(AWAITING, released(event.subject));
}

/** No inbox: the claim is what makes a second delivery harmless. */
function decided({ seq }: Fact, event: HoldpointEvent<'approval.decided'>, rows: Rows): void {
  if (seq === null || event.data.decision !== 'approved' || rows.get('executions', event.subject) !== undefined) return;
  rows.put(AWAITING, {
    id: released(event.subject),
    value: { consumer: APPROVALS, seq, event } satisfies Awaiting,
  });
}
