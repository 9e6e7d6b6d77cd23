import type { Call, ToolFacts } from './call.js';
import { decide, type PolicyDecision, type Read } from './decide.js';
import type { Reason } from './reason.js';
import { resolve } from './resolve.js';
import { type RuleSet, type SpacePolicy, stricter } from './rules.js';
import { Trace, type Tried } from './tried.js';

export interface Explanation {
  decision: PolicyDecision;
  /** Where the verdict comes from, in a sentence of ours. */
  because: string;
  /** What the call could be taken for, itself first; none when no rule was asked. */
  readings: Read[];
  /** Of the readings the one whose verdict counts. */
  deciding: Read | null;
  /** What became of each rule on that reading, in the order in which they are tried. */
  tried: Tried[];
}

/** The decision of `decide` on the same input, and how it comes about. */
export function explain(
  call: Call,
  tool: ToolFacts | null,
  rules: RuleSet,
  space: SpacePolicy,
  exhausted = false,
): Explanation {
  const readings: Read[] = [];
  const decision = decide(call, tool, rules, space, exhausted, (read) => readings.push(read));
  const deciding = readings.reduce<Read | null>(
    (top, read) => (top === null || stricter(read.verdict, top.verdict) ? read : top),
    null,
  );
  const trace = new Trace();
  if (deciding !== null) resolve(deciding.reading, rules, space.rules, trace);
  const alike = deciding !== null && deciding !== readings[0] ? ALIKE : '';
  return { decision, because: `${BECAUSE[decision.reason]}${alike}`, readings, deciding, tried: trace.tried };
}

const ALIKE = ' The call could be taken for another one, and the strictest verdict on any of them counts.';

const BECAUSE: Record<Reason, string> = {
  'not-found': 'The agent has no such tool in this space; no rule was asked.',
  halted: 'A person has halted such calls; no rule was asked.',
  'admin-scope-not-invokable': 'Agents never call administrative tools; no rule was asked.',
  rule: 'The rule that decides is the strictest of those that are heard.',
  default: 'No rule speaks of the call, so the default decides.',
  'foreign-tool': 'The tool is of a foreign server, and no rule names it: such calls are held.',
  'undeclared-action': 'The tool declares no such action: whatever the rules say, the call is held at least.',
  'content-unreadable': 'The arguments cannot be read: whatever the rules say, a call that may write is held at least.',
  'destructive-not-allowed':
    'The rules come out at auto, but the action destroys and the space has not opted in to it.',
  'rate-limit-exceeded': 'The rate limit of the user and tool was used up.',
  'requirements-unclear': 'The call could be taken for several that different people have to release.',
};
