import { z } from 'zod';
import { name, timestamp } from './ids.js';

// What the audit log comes to, counted over a time: in one, hour by hour or day by day (UTC).

/** When the hour or day began; null when everything was asked for in one. */
const bucket = timestamp.nullable();
/** How long, in milliseconds; null when there was none. */
const span = z.number().nullable();

/** Outcomes of one action of one tool. */
export const toolErrorRate = z.object({
  bucket,
  tool: name,
  action: name.nullable(),
  calls: z.int(),
  errors: z.int(),
  denied: z.int(),
  notFound: z.int(),
  /** Errors among the calls that ran (`Ok` or `Error`); null when none did. */
  rate: z.number().nullable(),
});
export type ToolErrorRate = z.infer<typeof toolErrorRate>;

/** How much of what one action proposed was put before a person. */
export const heldShare = z.object({
  bucket,
  tool: name,
  action: name.nullable(),
  /** Calls that were held, and calls that came to an end without. */
  calls: z.int(),
  held: z.int(),
  share: z.number(),
});
export type HeldShare = z.infer<typeof heldShare>;

/** From being held to being decided. What expired or was withdrawn counts, and is no person's time. */
export const approvalTime = z.object({
  bucket,
  tool: name,
  action: name.nullable(),
  decided: z.int(),
  approved: z.int(),
  /** Decided by a person; the times are theirs. */
  byPerson: z.int(),
  medianMs: span,
  p95Ms: span,
});
export type ApprovalTime = z.infer<typeof approvalTime>;

/** What outcomes cost: an outcome is a task with all its runs, or a run that had none. */
export const outcomeCost = z.object({
  bucket,
  agent: z.string(),
  outcomes: z.int(),
  runs: z.int(),
  /** Of what is known; `known` says whether that is everything. */
  cost: z.object({ amount: z.string(), known: z.boolean() }),
  /** Runs whose cost nobody knows. */
  unknownCosts: z.int(),
  /** Of outcomes all of whose runs have a known cost; null when there is none. */
  perOutcome: z.string().nullable(),
});
export type OutcomeCost = z.infer<typeof outcomeCost>;
