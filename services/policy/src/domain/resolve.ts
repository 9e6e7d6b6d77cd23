import type { Verdict } from '@holdpoint/contracts';
import { BUILTIN_SERVER, describeRule, type Rule, type RuleSet, stricter, strictest } from './rules.js';

/** One way to read who calls what. `action` null: none that any rule could name. */
export interface Reading {
  server: string;
  tool: string;
  action: string | null;
  agent: string;
  /** Declared by us under the built-in server; everything else is a stranger's tool. */
  builtin: boolean;
}

export interface Resolution {
  verdict: Verdict;
  reason: 'rule' | 'default' | 'foreign-tool';
  rule: string;
  /** The operator's words, when the rule has any. */
  because?: string | undefined;
}

/**
 * Resolves one reading by exact match: `Tool.action` → `Tool` → default, the operator before the built-in rules.
 *
 * A rule that names more (action, agent, server) wins over one that names less; of two that are not comparable the
 * stricter wins. The operator overrides a built-in rule by naming the action; what the operator says more generally can
 * tighten a built-in rule, never loosen it.
 */
export function resolve(reading: Reading, rules: RuleSet): Resolution {
  const operator = mostSpecific(rules.operator.filter((r) => matches(r, reading)));
  const builtin = rules.builtin.find((r) => matches(r, reading));
  const top = strictestOf(operator);
  if (top !== undefined) {
    const namesAction = operator.some((r) => r.action !== undefined);
    if (builtin === undefined || namesAction || !stricter(builtin.verdict, top.verdict)) return byRule(top);
    return byRule(builtin);
  }
  const fallback = rules.fallback ?? 'auto';
  if (!reading.builtin && !stricter(fallback, 'approve'))
    return { verdict: 'approve', reason: 'foreign-tool', rule: 'builtin: foreign tools' };
  if (builtin !== undefined && !stricter(fallback, builtin.verdict)) return byRule(builtin);
  return {
    verdict: fallback,
    reason: 'default',
    rule: rules.fallback === null ? 'builtin: default' : 'operator: default',
  };
}

function matches(rule: Rule, r: Reading): boolean {
  if (rule.tool !== r.tool) return false;
  if (rule.action !== undefined && rule.action !== r.action) return false;
  if (rule.agent !== undefined && rule.agent !== r.agent) return false;
  if (rule.server === undefined) return r.builtin || rule.verdict !== 'auto';
  return rule.server === r.server && (rule.server !== BUILTIN_SERVER || r.builtin);
}

const named = (r: Rule) => [r.server, r.action, r.agent].map((field) => field !== undefined);

/** Both match the same call, so one is narrower exactly when it names all that the other names, and more. */
function narrower(a: Rule, b: Rule): boolean {
  const [namesA, namesB] = [named(a), named(b)];
  return namesB.every((n, i) => !n || namesA[i]) && namesA.some((n, i) => n && !namesB[i]);
}

const mostSpecific = (rules: readonly Rule[]): Rule[] =>
  rules.filter((r) => !rules.some((other) => narrower(other, r)));

const strictestOf = (rules: readonly Rule[]): Rule | undefined =>
  rules.reduce<Rule | undefined>(
    (top, r) => (top !== undefined && strictest(top.verdict, r.verdict) === top.verdict ? top : r),
    undefined,
  );

const byRule = (rule: Rule): Resolution => ({
  verdict: rule.verdict,
  reason: 'rule',
  rule: describeRule(rule),
  because: rule.reason,
});
