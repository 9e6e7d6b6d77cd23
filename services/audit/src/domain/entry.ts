import type { AuditEntry, HoldpointEvent, Principal } from '@holdpoint/contracts';
import { abandonedNote, decisionNote, outcomeNote, stagedNote } from './words.js';

/** One row of the audit log, as one event makes it. Provenance is the engine's; no tool result is ever read for it. */
export interface Entry extends Omit<AuditEntry, 'id' | 'streamSeq' | 'at' | 'arguments'> {
  /** Event that carries the sealed arguments. */
  argumentsSeq: number | null;
  /** Event that carries a sealed reason to show after the note. */
  noteSeq: number | null;
}

/** What the log holds of a call besides the event at hand. */
export interface CallFacts {
  proposal: { seq: number; runId: string | null } | null;
  verdictSeq: number | null;
  startedSeq: number | null;
}
export const NOTHING_KNOWN: CallFacts = { proposal: null, verdictSeq: null, startedSeq: null };

type CallEvent = HoldpointEvent<'tool.executed' | 'tool.abandoned' | 'call.staged' | 'approval.decided'>;
const MAKES_ENTRIES: ReadonlySet<string> = new Set([
  'tool.executed',
  'tool.abandoned',
  'call.staged',
  'approval.decided',
]);
export const mayMakeEntry = (event: HoldpointEvent): event is CallEvent => MAKES_ENTRIES.has(event.type);

/**
 * The entry that an event makes (charter section 8, seed 003): an outcome, a staging or a decision. Null for a call that was
 * cancelled before it started, and for a proposal given up after its verdict, since its outcome follows.
 */
export function entryFor(event: CallEvent, seq: number, known: CallFacts): Entry | null {
  const base = baseOf(event, seq, known);
  switch (event.type) {
    case 'tool.executed': {
      if (cancelledBeforeItStarted(event, seq, known)) return null;
      const argumentsSeq = event.data.arguments ? seq : base.argumentsSeq;
      return { ...base, kind: 'outcome', status: event.data.status, argumentsSeq, note: outcomeNote(event.data) };
    }
    case 'tool.abandoned': {
      // The first of verdict and abandonment counts (charter, section 6). Nobody publishes an outcome after this one.
      const { reason } = event.data;
      if (reason === 'cancelled' || isBefore(known.verdictSeq, seq)) return null;
      return { ...base, kind: 'outcome', status: 'Denied', note: abandonedNote(reason) };
    }
    case 'call.staged':
      return { ...base, kind: 'staging', status: 'Staged', note: stagedNote(event) };
    case 'approval.decided':
      return {
        ...base,
        kind: 'decision',
        source: 'approval',
        principal: decider(event),
        status: event.data.decision === 'approved' ? 'Ok' : 'Denied',
        note: decisionNote(event.data),
        noteSeq: event.data.reason === null ? null : seq,
      };
  }
}

function baseOf(event: CallEvent, seq: number, known: CallFacts) {
  // what stands behind it may or may not be logged yet: an entry follows from what stands before, or it could not be checked
  const proposal = isBefore(known.proposal?.seq ?? null, seq) ? known.proposal : null;
  const { conversationId, taskId, agent, model, source, principal, server, tool, action } = event.data.call;
  return {
    spaceId: event.spaceid,
    runId: event.runid ?? proposal?.runId ?? null,
    taskId: taskId ?? null,
    callId: event.subject,
    conversationId,
    agent,
    model,
    source,
    principal,
    server,
    tool,
    action,
    argumentsSeq: proposal?.seq ?? null,
    noteSeq: null,
  };
}

/** A released call always has its outcome, and so has one whose effect had begun: real effects are never hidden. */
const cancelledBeforeItStarted = (e: HoldpointEvent<'tool.executed'>, seq: number, known: CallFacts): boolean =>
  e.data.cancelled && e.data.status === 'Denied' && !e.data.held && !isBefore(known.startedSeq, seq);

const isBefore = (other: number | null, seq: number): boolean => other !== null && other < seq;

/** Who is answerable for a decision: the person, else the service whose clock or rule ended it. */
function decider({ data }: HoldpointEvent<'approval.decided'>): Principal {
  return data.by ?? { kind: 'service', id: data.cause === 'policy-denied' ? 'policy' : 'staging' };
}
