import { z } from 'zod';
import { hint, verdict } from './call.js';
import { name, timestamp, token } from './ids.js';
import { approvalRequirement } from './requirement.js';
import { setSpaceRulesRequest } from './space-policy.js';

// For people who write rules: what a rule does, would have done, and what is wrong with it.

/** Rules that are not in force: a space's, as `PUT …/rules` takes them, or the text of a whole holdpoint.yaml. */
const draft = {
  rules: setSpaceRulesRequest.shape.rules.optional(),
  file: z
    .string()
    .min(1)
    .max(64 * 1024)
    .optional(),
};
const ONE_DRAFT = { path: ['file'], error: 'must be given without `rules`: one draft at a time' };
const notBoth = (r: { rules?: unknown; file?: unknown }) => r.rules === undefined || r.file === undefined;
const exactlyOne = (r: { rules?: unknown; file?: unknown }) => (r.rules === undefined) !== (r.file === undefined);

/** The call need not exist. Arguments are looked at for flags and kept nowhere. */
export const policyExplainRequest = z
  .strictObject({
    spaceId: token,
    agent: name,
    /** Absent: the built-in tools. */
    server: name.optional(),
    tool: name,
    action: name.nullish(),
    arguments: z.union([z.string().max(128 * 1024), z.record(z.string(), z.unknown())]).optional(),
    /** In place of what is in force. */
    ...draft,
  })
  .refine(notBoth, ONE_DRAFT);
export type PolicyExplainRequest = z.output<typeof policyExplainRequest>;

const reading = z.object({
  server: z.string(),
  tool: z.string(),
  action: z.string().nullable(),
  agent: z.string(),
  verdict,
  rule: z.string(),
});

export const triedRule = z.object({
  rule: z.string(),
  origin: z.enum(['builtin', 'operator', 'space']),
  verdict,
  matched: z.boolean(),
  /** `agrees` is as strict as what decides, so that its terms hold too. */
  fate: z.enum(['decides', 'agrees', 'milder', 'silenced', 'loosened', 'no-match']),
  /** The first field in which the rule names something else. */
  mismatch: z.enum(['tool', 'server', 'action', 'agent']).nullable(),
  /** The rule that silenced or loosened it, or that decides where it is milder. */
  by: z.string().nullable(),
  why: z.string(),
});
export type TriedRule = z.infer<typeof triedRule>;

export const policyExplanation = z.object({
  verdict,
  wouldBe: verdict.optional(),
  reason: z.string(),
  rule: z.string(),
  because: z.string(),
  flags: z.array(z.string()),
  requirements: z.array(approvalRequirement).optional(),
  expiresAfterSeconds: z.int().optional(),
  /** Of what it was judged by, the draft included. */
  policyVersion: z.string(),
  /** What is believed of the tool; null when the agent has none of that name. */
  tool: z.object({ origin: z.enum(['builtin', 'foreign']), scope: z.enum(['user', 'admin']), hint }).nullable(),
  /** Each rule in the order in which they are tried, on the reading that decides; empty when no rule was asked. */
  rules: z.array(triedRule),
  /** What the call could be taken for, itself first: the first 20 of `readingsCount`. */
  readings: z.array(reading),
  readingsCount: z.int(),
});
export type PolicyExplanation = z.infer<typeof policyExplanation>;

export const policyLintRequest = z
  .strictObject({ spaceId: token, ...draft })
  .refine(exactlyOne, { path: ['file'], error: 'must be given, or `rules`: one draft at a time' });
export type PolicyLintRequest = z.output<typeof policyLintRequest>;

/** Text of the draft may be quoted in a fault. */
export const policyLintReply = z.object({ ok: z.boolean(), faults: z.array(z.string()) });
export type PolicyLintReply = z.infer<typeof policyLintReply>;

export const policyBacktestRequest = z
  .strictObject({
    spaceId: token,
    ...draft,
    /** Calls decided at this time or later. */
    since: timestamp.optional(),
    /** So many at most, the latest first. */
    limit: z.int().min(1).max(10_000_000).optional(),
    /** So many call ids for each kind of change. */
    samples: z.int().min(0).max(20).default(5),
  })
  .refine(exactlyOne, { path: ['file'], error: 'must be given, or `rules`: one draft at a time' });
export type PolicyBacktestRequest = z.output<typeof policyBacktestRequest>;

const backtestCounts = {
  /** Calls that were judged anew. */
  judged: z.int(),
  changed: z.int(),
  /** Calls of which the facts were not kept, so nothing is said. */
  withoutFacts: z.int(),
  /** Of those that were judged: their arguments could not be read then, and count as unreadable now. */
  unreadable: z.int(),
};

export const backtestChange = z.object({
  server: z.string(),
  tool: z.string(),
  action: z.string().nullable(),
  from: verdict,
  to: verdict,
  calls: z.int(),
  /** Ids of some of them, the latest first. */
  samples: z.array(token),
});
export type BacktestChange = z.infer<typeof backtestChange>;

/** What a backtest tells as `text/event-stream`; `done` is the last, and without it the answer is not whole. */
export const backtestProgress = z.discriminatedUnion('type', [
  z.object({ type: z.literal('progress'), ...backtestCounts }),
  z.object({
    type: z.literal('done'),
    ...backtestCounts,
    /** Verdicts of the calls that were judged: as they were recorded, and by the draft. */
    before: z.record(verdict, z.int()),
    after: z.record(verdict, z.int()),
    /** Most calls first. */
    changes: z.array(backtestChange),
    /** Changed calls beyond those kinds that `changes` can list. */
    unlisted: z.int(),
    policyVersion: z.string(),
  }),
  z.object({ type: z.literal('broken'), detail: z.string() }),
]);
export type BacktestProgress = z.infer<typeof backtestProgress>;
