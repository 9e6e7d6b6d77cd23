import type { ExecutionClass } from '@holdpoint/contracts';

/** What is known, at an attempt, of the attempts before it. */
export type Earlier =
  /** There was none, or none took effect: each said so of itself, or the remote end was asked. */
  | 'ruled-out'
  /** One of them may have taken effect. */
  | 'open'
  /** The remote end was asked and cannot tell. */
  | 'unknowable';

/**
 * What an attempt's answer means for the call. `did-not-happen` speaks of one attempt alone: it ends the call only if no
 * earlier attempt can have taken effect. `not-begun`: its lease had lapsed before it could do anything.
 */
export function conclude(
  answer: 'done' | 'did-not-happen' | 'not-begun' | 'unknown',
  a: { executionClass: ExecutionClass; attempt: number; attempts: number; earlier: Earlier },
): 'close' | 'again' | 'doubt' {
  if (answer === 'done') return 'close';
  if (answer === 'not-begun' && mayTryAgain(a)) return 'again';
  if (answer !== 'unknown' && a.earlier === 'ruled-out') return 'close';
  return a.earlier === 'unknowable' || !mayTryAgain(a) ? 'doubt' : 'again';
}

/** Whether another attempt may follow this one (charter, section 6: idempotent, keyed, reconcilable only). */
export const mayTryAgain = (a: { executionClass: ExecutionClass; attempt: number; attempts: number }): boolean =>
  a.executionClass !== 'at-most-once' && a.attempt < a.attempts;

/** How long to wait after an attempt that settled nothing: three times as long each time, a minute at most. */
export const backoffMs = (base: number, attempt: number): number => Math.min(base * 3 ** (attempt - 1), 60_000);
