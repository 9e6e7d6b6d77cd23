import type { ApprovalRequirement, PolicyMode, Verdict } from '@holdpoint/contracts';
import type { Call, ToolFacts } from './call.js';
import { isBuiltin, isDeclared, readingsOfCall } from './readings.js';
import { type Reason, reminderFor } from './reason.js';
import { type Reading, type Resolution, resolve } from './resolve.js';
import { type RuleSet, type SpacePolicy, stricter } from './rules.js';
import { type Hold, holdTogether, MAX_REQUIREMENTS } from './terms.js';

export interface PolicyDecision {
  verdict: Verdict;
  reason: Reason;
  /** The rule that decided, as people write it. */
  rule: string;
  mode: PolicyMode;
  /** In `log-only`, the verdict that `enforce` would have given. */
  wouldBe?: Verdict;
  flags: string[];
  /** What the model is told: our own words and the operator's, never text of the call. */
  reminder?: string;
  /** Present when the verdict is `approve`: how long the call may wait for a person. */
  expiresAfterSeconds?: number;
  /** What a release has to meet, all of it, when the verdict is `approve` and somebody says; absent: one owner or admin. */
  requirements?: ApprovalRequirement[];
}

interface Judgement {
  verdict: Verdict;
  reason: Reason;
  rule: string;
  because?: string | undefined;
  hold?: Hold;
}

/**
 * The verdict on one call (charter, section 4). No I/O: equal input, equal decision.
 *
 * `tool` is null when it is unknown or not assigned to the agent. `exhausted`: earlier calls of this user and tool have
 * used up the rate limit.
 */
export function decide(
  call: Call,
  tool: ToolFacts | null,
  rules: RuleSet,
  space: SpacePolicy,
  exhausted = false,
): PolicyDecision {
  if (tool === null) return conclude(NOT_FOUND, 'deny', call.content.flags, rules);
  const barred = bar(tool, space);
  if (barred !== null) return conclude(barred, 'deny', call.content.flags, rules);

  const { judged, flags } = judge(call, tool, rules, space);
  const limited = exhausted && judged.verdict !== 'deny' ? RATE_LIMITED : judged;
  const verdict = rules.mode === 'log-only' ? 'auto' : limited.verdict;
  return conclude(limited, verdict, [...call.content.flags, ...flags], rules);
}

const NOT_FOUND: Judgement = { verdict: 'deny', reason: 'not-found', rule: 'builtin: unknown tools' };
const RATE_LIMITED: Judgement = { verdict: 'deny', reason: 'rate-limit-exceeded', rule: 'builtin: rate limit' };
const TOO_MANY_TERMS: Judgement = { verdict: 'deny', reason: 'requirements-unclear', rule: 'builtin: requirements' };

/** What no rule can allow, in any mode: with an unknown tool, step 1. */
function bar(tool: ToolFacts, space: SpacePolicy): Judgement | null {
  if (space.halted !== null) return { verdict: 'deny', reason: 'halted', rule: `halt: ${space.halted}` };
  if (tool.scope === 'admin')
    return { verdict: 'deny', reason: 'admin-scope-not-invokable', rule: 'builtin: admin scope' };
  return null;
}

/** Steps 2 and 3: the strictest verdict on anything that the call could be taken for. */
function judge(
  call: Call,
  tool: ToolFacts,
  rules: RuleSet,
  space: SpacePolicy,
): { judged: Judgement; flags: string[] } {
  const declared = isDeclared(call, tool, rules, space);
  const flags = declared ? [] : ['undeclared-action'];
  const readings = readingsOfCall(call, tool, rules, space).map((reading) =>
    withOptIn(resolve(reading, rules, space.rules), reading, tool, space),
  );
  const [first, ...others] = readings;
  let judged = first ?? NOT_FOUND;
  for (const other of others) {
    if (!stricter(other.verdict, judged.verdict)) continue;
    judged = other;
    if (declared) flags.push('look-alike');
  }
  if (!declared) judged = atLeastApprove(judged, 'undeclared-action', 'builtin: undeclared actions');
  if (!call.content.readable && (tool.hint !== 'read' || !isBuiltin(call, tool)))
    judged = atLeastApprove(judged, 'content-unreadable', 'builtin: unreadable content');
  if (judged.verdict !== 'approve') return { judged, flags };
  const holds = readings.flatMap((r) => (r.verdict === 'approve' ? (r.hold ?? []) : []));
  const hold = holdTogether(holds, rules.expiresAfterSeconds);
  if (hold.requirements.length > MAX_REQUIREMENTS) return { judged: TOO_MANY_TERMS, flags };
  return { judged: { ...judged, hold }, flags };
}

/** Step 3: what is destructive and would run by itself needs the space's opt-in for exactly this action. */
function withOptIn(found: Resolution, r: Reading, tool: ToolFacts, space: SpacePolicy): Judgement {
  if (found.verdict !== 'auto' || tool.hint !== 'destructive') return found;
  const optedIn = space.allowDestructive.some(
    (a) => a.server === r.server && a.tool === r.tool && a.action === r.action,
  );
  return optedIn ? found : { verdict: 'deny', reason: 'destructive-not-allowed', rule: found.rule };
}

const atLeastApprove = (j: Judgement, reason: Reason, rule: string): Judgement =>
  stricter('approve', j.verdict) ? { verdict: 'approve', reason, rule } : j;

function conclude(j: Judgement, verdict: Verdict, flags: readonly string[], rules: RuleSet): PolicyDecision {
  const reminder = reminderFor(verdict, j.reason, j.because, flags);
  return {
    verdict,
    reason: j.reason,
    rule: j.rule,
    mode: rules.mode,
    ...(rules.mode === 'log-only' ? { wouldBe: j.verdict } : {}),
    flags: [...new Set(flags)],
    ...(reminder === undefined ? {} : { reminder }),
    ...(verdict === 'approve' ? termsOf(j, rules) : {}),
  };
}

function termsOf({ hold }: Judgement, rules: RuleSet): Pick<PolicyDecision, 'expiresAfterSeconds' | 'requirements'> {
  const requirements = [...(hold?.requirements ?? [])];
  return {
    expiresAfterSeconds: hold?.expiresAfterSeconds ?? rules.expiresAfterSeconds,
    ...(requirements.length > 0 ? { requirements } : {}),
  };
}
