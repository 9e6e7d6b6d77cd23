import type { HoldpointEvent } from '../events/catalogue.js';

export type CallEventType =
  | 'tool.proposed'
  | 'tool.abandoned'
  | 'tool.started'
  | 'tool.executed'
  | 'tool.in-doubt'
  | 'policy.decided'
  | 'call.staged'
  | 'approval.voted'
  | 'approval.decided';
export type CallEvent = HoldpointEvent<CallEventType>;

export type CallState =
  | 'proposed'
  | 'abandoned'
  | 'denied'
  | 'auto-read'
  | 'auto-write'
  | 'to-stage'
  | 'pending'
  | 'approved'
  | 'executing'
  | 'in-doubt'
  | 'closed';

const claims = {
  'tool.started': 'executing',
  /** The claim row taken as abandoned, or policy says no by now. */
  'tool.executed Denied': 'closed',
} as const;

/**
 * Charter, section 6: what may follow in each state, and where it leads. A call that is refused before it is proposed
 * begins and ends with one `tool.executed`; every other one begins with `tool.proposed`. Verdict and abandonment may
 * both be stored: the first of them counts and the other changes nothing.
 */
export const callTable: Record<CallState, Readonly<Record<string, CallState>>> = {
  proposed: {
    'policy.decided auto': 'auto-write',
    'policy.decided deny': 'denied',
    'policy.decided approve': 'to-stage',
    'tool.abandoned': 'abandoned',
  },
  abandoned: {},
  denied: { 'tool.executed Denied': 'closed' },
  'auto-read': { ...claims, 'tool.executed Ok': 'closed', 'tool.executed Error': 'closed' },
  'auto-write': claims,
  'to-stage': { 'call.staged': 'pending' },
  pending: {
    'approval.voted': 'pending',
    'approval.decided approved': 'approved',
    'approval.decided rejected': 'closed',
    'approval.decided expired': 'closed',
    'approval.decided withdrawn': 'closed',
  },
  approved: claims,
  executing: {
    'tool.started': 'executing',
    'tool.executed Ok': 'closed',
    'tool.executed Error': 'closed',
    'tool.in-doubt': 'in-doubt',
  },
  'in-doubt': { 'tool.executed Ok': 'closed', 'tool.executed Error': 'closed' },
  closed: {},
};

/** The key of an event's row: its type and, where that decides the way, what it says. */
export function callRow(e: CallEvent): string {
  switch (e.type) {
    case 'policy.decided':
      return `${e.type} ${e.data.verdict}`;
    case 'approval.decided':
      return `${e.type} ${e.data.decision}`;
    case 'tool.executed':
      return `${e.type} ${e.data.status}`;
    default:
      return e.type;
  }
}

/** States in which it is a person's turn; every other open state ends without one. */
export const waitsForPerson: ReadonlySet<CallState> = new Set(['pending', 'in-doubt']);
