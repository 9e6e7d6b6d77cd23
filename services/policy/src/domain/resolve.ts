import type { Verdict } from '@holdpoint/contracts';
import {
  BUILTIN_SERVER,
  describeRule,
  type Rule,
  type RuleSet,
  type Saying,
  type SpaceRule,
  stricter,
} from './rules.js';
import { type Hold, holdOf } from './terms.js';

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
  /** The words of the rule's author, when it has any. */
  because?: string | undefined;
  /** On which terms a person releases the call, when the verdict is `approve`. */
  hold: Hold;
}

/** Something said of a reading, and how much of it the speaker named. */
interface Voice {
  says: Saying;
  from: 'builtin' | 'operator' | 'space';
  names: Named;
  loosenable: boolean;
  reason: Resolution['reason'];
  /** The rule as people write it. */
  rule: () => string;
}

const FIELDS = ['tool', 'server', 'action', 'agent'] as const;
type Named = Record<(typeof FIELDS)[number], boolean>;

/**
 * Resolves one reading by exact match. Operator and product speak first, then the space; the strictest voice decides,
 * and every voice that holds the call adds its terms.
 *
 * Of the rules of one author the one that names more (tool, server, action, agent) silences the one that names less; of
 * two that cannot be compared both are heard. The operator silences a built-in rule by naming the action. A space
 * silences, by a milder rule that names at least as much, what is built in and what the operator marked as loosenable,
 * and nothing else.
 */
export function resolve(reading: Reading, rules: RuleSet, space: readonly SpaceRule[] = []): Resolution {
  const said = mostSpecific(space.filter((r) => matches(r, reading))).map((r) => voiceOf(r, reading));
  const standing = withoutSpace(reading, rules).filter((v) => !said.some((s) => loosens(s, v)));
  // of equally strict ones whoever named something is named as the reason
  const voices = [...standing, ...said].toSorted(
    (a, b) => Number(a.reason === 'default') - Number(b.reason === 'default'),
  );
  const [first, ...others] = voices;
  if (first === undefined) throw new Error('a reading of which nobody says anything');
  const { says, reason, rule } = others.reduce(
    (top, v) => (stricter(v.says.verdict, top.says.verdict) ? v : top),
    first,
  );
  const of = (from: (v: Voice) => boolean) => voices.filter(from).map((v) => v.says);
  return {
    verdict: says.verdict,
    reason,
    rule: rule(),
    because: says.reason,
    hold: holdOf(
      of((v) => v.from !== 'space'),
      of((v) => v.from === 'space'),
      rules.expiresAfterSeconds,
    ),
  };
}

/** What would decide if spaces had no say. Where two are equally strict the first one is named as the reason. */
function withoutSpace(reading: Reading, rules: RuleSet): Voice[] {
  const operator = mostSpecific(rules.operator.filter((r) => matches(r, reading)));
  const builtin = rules.builtin
    .filter((r) => matches(r, reading) && !operator.some((o) => o.action !== undefined))
    .map((r) => voiceOf(r, reading));
  if (operator.length > 0) return [...operator.map((r) => voiceOf(r, reading)), ...builtin];
  return [...(reading.builtin ? [] : [FOREIGN]), ...builtin, defaultOf(rules)];
}

const NOTHING: Named = { tool: false, server: false, action: false, agent: false };

const FOREIGN: Voice = {
  says: { verdict: 'approve' },
  from: 'builtin',
  names: { ...NOTHING, tool: true, server: true },
  loosenable: true,
  reason: 'foreign-tool',
  rule: () => 'builtin: foreign tools',
};

function defaultOf({ fallback }: RuleSet): Voice {
  const by = fallback === null ? 'builtin' : 'operator';
  return {
    says: fallback ?? { verdict: 'auto' },
    from: by,
    names: NOTHING,
    loosenable: fallback === null || fallback.loosenable === true,
    reason: 'default',
    rule: () => `${by}: default`,
  };
}

const voiceOf = (rule: Rule | SpaceRule, reading: Reading): Voice => ({
  says: rule,
  from: rule.origin,
  // the server of a built-in tool is known without being named: a rule without one speaks of that very tool
  names: { ...namedBy(rule), server: reading.builtin || rule.server !== undefined },
  loosenable: rule.origin === 'builtin' || (rule.origin === 'operator' && rule.loosenable === true),
  reason: rule.origin === 'space' && rule.tool === undefined ? 'default' : 'rule',
  rule: () => describeRule(rule),
});

/** A milder rule of a space against somebody else's. An equally strict one silences nothing: then the terms of both hold. */
const loosens = (space: Voice, other: Voice): boolean =>
  other.loosenable &&
  stricter(other.says.verdict, space.says.verdict) &&
  FIELDS.every((f) => !other.names[f] || space.names[f]);

function matches(rule: Rule | SpaceRule, r: Reading): boolean {
  if (rule.tool !== undefined && rule.tool !== r.tool) return false;
  if (rule.action !== undefined && rule.action !== r.action) return false;
  if (rule.agent !== undefined && rule.agent !== r.agent) return false;
  if (rule.server === undefined) return r.builtin || rule.verdict !== 'auto';
  return rule.server === r.server && (rule.server !== BUILTIN_SERVER || r.builtin);
}

const namedBy = (r: Rule | SpaceRule): Named => ({
  tool: r.tool !== undefined,
  server: r.server !== undefined,
  action: r.action !== undefined,
  agent: r.agent !== undefined,
});

/** Both match the same call, so one is narrower exactly when it names all that the other names, and more. */
function narrower(a: Rule | SpaceRule, b: Rule | SpaceRule): boolean {
  const [namesA, namesB] = [namedBy(a), namedBy(b)];
  return FIELDS.every((f) => !namesB[f] || namesA[f]) && FIELDS.some((f) => namesA[f] && !namesB[f]);
}

const mostSpecific = <R extends Rule | SpaceRule>(rules: readonly R[]): R[] =>
  rules.filter((r) => !rules.some((other) => narrower(other, r)));
