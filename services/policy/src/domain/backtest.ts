import type { Verdict } from '@holdpoint/contracts';
import { decide } from './decide.js';
import type { RuleSet, SpacePolicy } from './rules.js';
import type { StatedTool } from './tool-facts.js';

/** A call of the past as it was judged. */
export interface Judged extends StatedTool {
  reason: string;
  flags: readonly string[];
}

/** Of the flags of a verdict those that come from its rules; the others were seen in the content. */
const OF_RULES = ['undeclared-action', 'look-alike'];
const UNREADABLE = 'content-unreadable';

export const unreadable = ({ flags }: Pick<Judged, 'flags'>): boolean => flags.includes(UNREADABLE);

/** No action has this name. */
const SOME_OTHER = '';

/**
 * The verdict of other rules on a call of the past, with what was known of it then: its tool, whether it declared the
 * action, the flags of its content, the rate limit. Halts are left out: they are no rules.
 */
function judgeAgain(call: Judged, rules: RuleSet, space: SpacePolicy): Verdict {
  const { agent, server, tool, action, origin, scope, hint, flags, reason } = call;
  const content = { readable: !unreadable(call), flags: flags.filter((f) => !OF_RULES.includes(f)) };
  const facts = reason === 'not-found' ? null : { origin, scope, hint, actions: declared(call) };
  const enforced: RuleSet = { ...rules, mode: 'enforce' };
  const open: SpacePolicy = { ...space, halted: null };
  return decide({ agent, server, tool, action, content }, facts, enforced, open, reason === 'rate-limit-exceeded')
    .verdict;
}

/** What is refused before the rules says nothing of the declaration: then it is not known. */
function declared({ action, flags, reason }: Judged): string[] | null {
  if (reason === 'halted' || reason === 'admin-scope-not-invokable') return null;
  if (flags.includes('undeclared-action')) return [SOME_OTHER];
  return action === null ? [] : [action];
}

const MOST_KEPT = 2_000;

/** `judgeAgain` under one set of rules. Equal calls get equal verdicts, so each kind is judged once while it is kept. */
export class Rejudging {
  readonly #kept = new Map<string, Verdict>();

  constructor(
    readonly rules: RuleSet,
    readonly space: SpacePolicy,
  ) {}

  verdictOn(call: Judged): Verdict {
    const { agent, server, tool, action, origin, scope, hint, flags, reason } = call;
    const kind = JSON.stringify([agent, server, tool, action, origin, scope, hint, flags, reason]);
    const kept = this.#kept.get(kind);
    if (kept !== undefined) return kept;
    const verdict = judgeAgain(call, this.rules, this.space);
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#kept.set(kind, verdict);
    return verdict;
  }
}

interface Change {
  server: string;
  tool: string;
  action: string | null;
  from: Verdict;
  to: Verdict;
  calls: number;
  samples: string[];
}

/** Names of calls are a model's choice: of so many kinds of change each is listed, and what comes after is counted. */
const MOST_CHANGES = 500;

/** What would have become of calls, added up. Its size does not grow with theirs. */
export class Comparison {
  judged = 0;
  changed = 0;
  withoutFacts = 0;
  unreadable = 0;
  unlisted = 0;
  readonly before: Record<Verdict, number> = { auto: 0, approve: 0, deny: 0 };
  readonly after: Record<Verdict, number> = { auto: 0, approve: 0, deny: 0 };
  readonly #changes = new Map<string, Change>();

  constructor(private readonly samples: number) {}

  get counts() {
    const { judged, changed, withoutFacts, unreadable } = this;
    return { judged, changed, withoutFacts, unreadable };
  }

  /** Most calls first. */
  get changes(): Change[] {
    return [...this.#changes.values()].sort((a, b) => b.calls - a.calls);
  }

  add(callId: string, call: Judged, from: Verdict, to: Verdict): void {
    this.judged += 1;
    if (unreadable(call)) this.unreadable += 1;
    this.before[from] += 1;
    this.after[to] += 1;
    if (from === to) return;
    this.changed += 1;
    const { server, tool, action } = call;
    const key = JSON.stringify([server, tool, action, from, to]);
    let change = this.#changes.get(key);
    if (change === undefined) {
      if (this.#changes.size >= MOST_CHANGES) {
        this.unlisted += 1;
        return;
      }
      change = { server, tool, action, from, to, calls: 0, samples: [] };
      this.#changes.set(key, change);
    }
    change.calls += 1;
    if (change.samples.length < this.samples) change.samples.push(callId);
  }
}
