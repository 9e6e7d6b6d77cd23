import type { HoldpointEvent } from '@holdpoint/contracts';

/** An event and where it stands in the one order of the stream. */
interface Placed<E> {
  seq: number;
  event: E;
}

/**
 * Whether the verdict was given on exactly this proposal; if not, what disagrees. Both are what the stream holds, so a
 * difference means that something is broken or forged: an alarm, never a case to be mended.
 */
export function disagreement(
  verdict: Placed<HoldpointEvent<'policy.decided'>>,
  proposal: Placed<HoldpointEvent<'tool.proposed'>>,
): string | null {
  if (verdict.event.data.proposalSeq !== proposal.seq) return 'the verdict names another proposal';
  if (proposal.seq >= verdict.seq) return 'the verdict stands before its proposal';
  if (verdict.event.runid !== proposal.event.runid) return 'the verdict names another run';
  return sameFields(verdict.event.data.call, proposal.event.data.call) ? null : 'the verdict was given on another call';
}

function sameFields(a: object, b: object): boolean {
  const [left, right] = [a, b].map((o) => JSON.stringify(Object.entries(o).sort(([x], [y]) => (x < y ? -1 : 1))));
  return left === right;
}

/** Of a verdict and an abandonment the one that was stored first counts (charter, section 6). */
export const abandonedFirst = (verdictSeq: number, abandonedSeq: number | undefined): boolean =>
  abandonedSeq !== undefined && abandonedSeq < verdictSeq;
