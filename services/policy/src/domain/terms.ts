import type { ApprovalRequirement } from '@holdpoint/contracts';
import type { Saying } from './rules.js';

/** On which terms a held call is released: all requirements have to be met; none: one owner or admin. */
export interface Hold {
  requirements: readonly ApprovalRequirement[];
  expiresAfterSeconds: number;
}

/** As many as an event of a verdict can carry. */
export const MAX_REQUIREMENTS = 8;

/**
 * The terms of everybody who holds the call together: each requirement, and the shortest time to wait. An operator's rule
 * may give more time than their general setting does; a space never gives more than the operator.
 */
export function holdOf(operator: readonly Saying[], space: readonly Saying[], usualSeconds: number): Hold {
  const holding = (all: readonly Saying[]) => all.filter((s) => s.verdict === 'approve');
  const times = (all: readonly Saying[]) => holding(all).flatMap((s) => s.expiresAfterSeconds ?? []);
  const own = times(operator);
  return {
    requirements: distinct(holding([...operator, ...space]).flatMap((s) => s.requirement ?? [])),
    expiresAfterSeconds: Math.min(...(own.length > 0 ? own : [usualSeconds]), ...times(space)),
  };
}

/** A call that could be taken for several is released only on the terms of all of them. */
export const holdTogether = (holds: readonly Hold[], usualSeconds: number): Hold => ({
  requirements: distinct(holds.flatMap((h) => h.requirements)),
  expiresAfterSeconds: Math.min(...(holds.length > 0 ? holds.map((h) => h.expiresAfterSeconds) : [usualSeconds])),
});

const distinct = (all: readonly ApprovalRequirement[]): ApprovalRequirement[] => [
  ...new Map(all.map((r) => [JSON.stringify(r), r])).values(),
];
