import type { CallRef } from '../call.js';
import type { Principal } from '../principal.js';
import type { CallEvent } from './call-table.js';
import type { Call } from './ledger.js';

interface Rule {
  code: string;
  /** What is wrong with the event, given all that was stored of the call before it. */
  broken(call: Call, e: CallEvent): string | false | undefined;
}

/** Fields of a call that no later event may tell otherwise; digests have a rule of their own. */
const IDENTITY = ['agent', 'model', 'source', 'conversationId', 'taskId', 'server', 'tool', 'action'] as const;
const isPerson = (p: Principal | null | undefined) => p?.kind === 'person';

/** What holds between a call's events whatever its state (charter, sections 5 and 6). */
export const callRules: readonly Rule[] = [
  {
    code: 'call.identity',
    broken: (call, e) =>
      (e.spaceid !== call.spaceId && 'another space than the proposal') ||
      (e.runid !== call.runId && 'another run than the proposal') ||
      differing(call.ref, e.data.call),
  },
  {
    code: 'call.digest',
    broken: (call, e) =>
      (e.data.call.digest !== call.ref.digest && 'the digest is not the one that was proposed') ||
      (e.data.call.schemaDigest !== call.ref.schemaDigest && 'the tool schema is not the one that was proposed') ||
      (e.type === 'approval.voted' && e.data.digestSeen !== call.ref.digest && 'the vote binds to another digest'),
  },
  {
    code: 'call.verdict',
    broken: (call, e) =>
      e.type === 'policy.decided' &&
      ((e.data.proposalSeq !== call.proposalSeq && `the verdict judges sequence ${e.data.proposalSeq}`) ||
        (e.data.mode === 'log-only' && e.data.verdict === 'approve' && 'a trial policy holds nothing')),
  },
  {
    code: 'call.staging',
    broken: (call, e) =>
      (e.type === 'call.staged' && e.data.hint !== call.hint && 'the hint is not the one that was proposed') ||
      ((e.type === 'approval.voted' || e.type === 'approval.decided') &&
        call.number !== null &&
        e.data.number !== call.number &&
        `number ${e.data.number} is not the one it was staged under`),
  },
  {
    code: 'call.decision',
    broken: (_call, e) => {
      if (e.type === 'approval.voted') return !isPerson(e.data.by) && 'a vote without a person';
      if (e.type !== 'approval.decided') return;
      const { decision, cause, by, frozen } = e.data;
      const byPerson = decision === 'approved' || decision === 'rejected';
      if (byPerson && (cause !== 'person' || !isPerson(by))) return `${decision} without a person`;
      if (decision === 'expired' && (cause !== 'deadline' || by !== null)) return 'expired by something else than time';
      if (decision === 'withdrawn' && cause === 'deadline') return 'withdrawn by the deadline';
      if (decision === 'withdrawn' && cause === 'person' && !isPerson(by)) return 'withdrawn by a person that was none';
      if ((decision === 'approved') !== (frozen !== undefined))
        return 'an approval, and only that, carries the frozen bytes';
      return;
    },
  },
  {
    code: 'call.expiry',
    broken: (call, e) => {
      if (e.type !== 'approval.decided' || call.expiresAt === null) return;
      const late = Date.parse(e.data.decidedAt) - Date.parse(call.expiresAt);
      if (e.data.decision === 'approved' && late > 0) return `approved ${late} ms after the deadline`;
      if (e.data.decision === 'expired' && late < 0) return `expired ${-late} ms before the deadline`;
      return;
    },
  },
  {
    code: 'call.held',
    broken: (call, e) =>
      (e.type === 'tool.started' || e.type === 'tool.executed' || e.type === 'tool.in-doubt') &&
      e.data.held !== call.held &&
      (call.held ? 'a person released it, and it says none did' : 'it says that a person released it, and none did'),
  },
  {
    code: 'call.attempt',
    broken: (call, e) => {
      const once = call.executionClass === 'at-most-once';
      if (e.type === 'tool.started') {
        if (once && e.data.attempt > 1) return 'a second attempt of an at-most-once call';
        return e.data.attempt <= call.attempt && `attempt ${e.data.attempt} follows attempt ${call.attempt}`;
      }
      if (call.attempt === 0 || (e.type !== 'tool.executed' && e.type !== 'tool.in-doubt')) return;
      // Further attempts have no event of their own, so a result may name a later one than was started.
      const { attempt } = e.data;
      if (attempt === undefined) return !isSettling(e) && 'the result of a claimed call names no attempt';
      if (attempt < call.attempt) return `attempt ${attempt} speaks after attempt ${call.attempt} began`;
      return once && attempt !== call.attempt && 'a second attempt of an at-most-once call';
    },
  },
  {
    code: 'call.doubt',
    broken: (call, e) => {
      if (e.type === 'tool.in-doubt')
        return (
          e.data.reason === 'lease-lapsed' &&
          call.executionClass !== 'at-most-once' &&
          e.data.note === null &&
          `a lapsed lease of an ${call.executionClass} call is a new attempt, or says why not`
        );
      if (e.type !== 'tool.executed') return;
      if (call.state === 'in-doubt' && !isSettling(e)) return 'only a person can settle a doubt';
      if (call.state !== 'in-doubt' && isSettling(e)) return 'settled, and there was no doubt';
      return isSettling(e) && !isPerson(e.data.settledBy) && 'only a person can settle a doubt';
    },
  },
];

const isSettling = (e: CallEvent) => e.type === 'tool.executed' && e.data.settledBy !== undefined;

function differing(a: CallRef, b: CallRef): string | undefined {
  if (a.principal.kind !== b.principal.kind || a.principal.id !== b.principal.id) return 'on behalf of another';
  const field = IDENTITY.find((f) => a[f] !== b[f]);
  return field && `${field} is not what was proposed`;
}
