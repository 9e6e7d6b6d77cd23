import type { Fact, HoldpointEvent, Projection, RowKey, Rows } from '@holdpoint/contracts';
import { type CallFacts, entryFor, mayMakeEntry, NOTHING_KNOWN } from './entry.js';
import { receiptFor } from './receipt.js';
import { entryRowOf, receiptRowOf } from './rows.js';

/** What is known of a call before its entries: where its proposal, verdict and start stand. */
const CALLS = 'calls';
const callOf = ({ spaceid, subject }: HoldpointEvent): RowKey => [CALLS, `${spaceid}/${subject}`];

/**
 * Entries and receipts, from the log (never the stream) in its order, without duplicates. A table that something else makes of
 * `event_log`, such as a tree over it, is named in `elsewhere` with what makes it.
 */
export const projection: Projection = {
  tables: [
    { name: 'audit_log', key: ['stream_seq'] },
    { name: 'run_receipts', key: ['run_id'] },
    {
      name: 'position',
      key: ['only_row'],
      untold: ['changed_at'],
      // What cannot be read is in the log too, and is no event.
      computed: {
        first_seq: '(SELECT min(stream_seq) FROM audit.event_log)',
        last_seq: '(SELECT max(stream_seq) FROM audit.event_log)',
      },
    },
  ],
  notes: [CALLS],
  elsewhere: {
    tree_tiles: 'the tree is written with the log, and its proofs tell whether it is of that log (docs/audit-log.md)',
  },

  reads({ event }) {
    if (event.type === 'run.completed') return [['run_receipts', event.subject]];
    return mayMakeEntry(event) || isOfCall(event) ? [callOf(event)] : [];
  },

  apply(fact, rows) {
    const { event, seq, streamTime } = fact;
    if (seq === null) return;
    rows.put('position', { only_row: true, changed_at: streamTime.toISOString() });
    if (isOfCall(event)) noteCall(event, seq, rows);
    else if (event.type === 'run.completed') receipt(event, fact, seq, rows);
    else if (mayMakeEntry(event)) {
      const known = (rows.get(...callOf(event))?.['value'] as CallFacts | undefined) ?? NOTHING_KNOWN;
      const entry = entryFor(event, seq, known);
      if (entry) rows.put('audit_log', entryRowOf({ ...entry, id: event.id, streamSeq: seq, at: streamTime }));
    }
  },
};

type OfCall = HoldpointEvent<'tool.proposed' | 'policy.decided' | 'tool.started'>;
const isOfCall = (event: HoldpointEvent): event is OfCall =>
  event.type === 'tool.proposed' || event.type === 'policy.decided' || event.type === 'tool.started';

function noteCall(event: OfCall, seq: number, rows: Rows): void {
  const key = callOf(event);
  const known = (rows.get(...key)?.['value'] as CallFacts | undefined) ?? NOTHING_KNOWN;
  const value: CallFacts = {
    proposal: known.proposal ?? (event.type === 'tool.proposed' ? { seq, runId: event.runid ?? null } : null),
    verdictSeq: known.verdictSeq ?? (event.type === 'policy.decided' ? seq : null),
    startedSeq: known.startedSeq ?? (event.type === 'tool.started' ? seq : null),
  };
  rows.put(CALLS, { id: key[1], value });
}

function receipt(event: HoldpointEvent<'run.completed'>, { streamTime }: Fact, seq: number, rows: Rows): void {
  if (rows.get('run_receipts', event.subject) !== undefined) return;
  const completedAt = streamTime.toISOString();
  rows.put('run_receipts', receiptRowOf({ ...receiptFor(event, seq), completedAt, streamSeq: seq }));
}
