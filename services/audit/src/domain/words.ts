import type { EventData, HoldpointEvent, Principal } from '@holdpoint/contracts';

/** Longest note of an entry, in characters (seed 003). */
export const MAX_NOTE = 500;
/** How much of the arguments an entry shows, in characters (seed 003). */
export const MAX_ARGUMENTS = 4000;

/** At most `max` UTF-16 units of `text`, never half a surrogate pair; what was cut ends in an ellipsis. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(max - 2)) ? max - 2 : max - 1;
  return `${text.slice(0, end)}…`;
}

/** Notes are our own words, names and codes. What a person or a model wrote stays sealed and is opened on reading. */
const sentence = (...parts: (string | false | undefined)[]): string => cut(parts.filter(Boolean).join('; '), MAX_NOTE);

const named = (by: Principal): string => (by.kind === 'person' ? by.id : `${by.kind} ${by.id}`);

export function outcomeNote({ held, reason, cancelled, settledBy }: EventData<'tool.executed'>): string {
  return sentence(
    held && 'released by a person',
    reason,
    settledBy && `settled by ${named(settledBy)}`,
    cancelled && 'the run was cancelled',
  );
}

export const abandonedNote = (reason: 'no-verdict' | 'engine-lost'): string =>
  reason === 'no-verdict'
    ? 'no-verdict; policy gave no verdict in time'
    : 'engine-lost; the engine was lost before a verdict';

export function stagedNote(event: HoldpointEvent<'call.staged'>): string {
  const { number, rule, flags } = event.data;
  return sentence(`held as ${event.spaceid}#${number}`, rule, flags.length > 0 && `flags: ${flags.join(', ')}`);
}

export function decisionNote({ decision, by, cause, votes }: EventData<'approval.decided'>): string {
  return sentence(
    by === null ? decision : `${decision} by ${named(by)}`,
    cause !== 'person' && cause,
    votes && `votes: ${votes.map((v) => v.by).join(', ')}`,
  );
}
