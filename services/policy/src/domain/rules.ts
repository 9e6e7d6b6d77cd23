import type { ActionTriple, ApprovalRequirement, PolicyMode, Verdict } from '@holdpoint/contracts';

/** The server name under which the engine's own tools are proposed. */
export const BUILTIN_SERVER = 'builtin';

/** What a rule says besides whose calls it speaks of. */
export interface Saying {
  verdict: Verdict;
  /** The author's words, shown to people and to the model. */
  reason?: string | undefined;
  /** Who has to release what the rule holds; absent: whoever else says it, or one owner or admin. */
  requirement?: ApprovalRequirement | undefined;
  /** How long a call that the rule holds may wait. */
  expiresAfterSeconds?: number | undefined;
}

/**
 * One rule over the structured triple (server, tool, action). An absent field stands for any value of it, with one
 * exception: `auto` without a server speaks of built-in tools only, so that no stranger's tool is loosened by its name.
 */
export interface Rule extends Saying {
  origin: 'builtin' | 'operator';
  server?: string | undefined;
  tool: string;
  action?: string | undefined;
  agent?: string | undefined;
  /** A space may overrule it by a milder rule that names as much. The operator's to say; built-in rules always are. */
  loosenable?: boolean | undefined;
}

/** What the operator says of calls that no rule of theirs names. */
export interface Fallback extends Saying {
  loosenable?: boolean | undefined;
}

/**
 * One rule of a space. Without a tool it is for whatever no other rule of the space names; it then names no server and no
 * action either.
 */
export interface SpaceRule extends Saying {
  origin: 'space';
  server?: string | undefined;
  tool?: string | undefined;
  action?: string | undefined;
  agent?: string | undefined;
}

/** All that an operator and the product itself say; a space's own say is `SpacePolicy`. */
export interface RuleSet {
  builtin: readonly Rule[];
  operator: readonly Rule[];
  /** Null when the operator gives none. */
  fallback: Fallback | null;
  mode: PolicyMode;
  expiresAfterSeconds: number;
  rateLimit: RateLimit;
}

/** So many calls in so many seconds, for each user and tool. */
export interface RateLimit {
  calls: number;
  seconds: number;
}

/** What the space of a call decides for itself, as its rows are at the moment of the decision. */
export interface SpacePolicy {
  /** Set while calls of this space, this agent or everyone are stopped. */
  halted: 'space' | 'agent' | 'everything' | null;
  /** Destructive actions that the space opted in to. Matched exactly. */
  allowDestructive: readonly ActionTriple[];
  rules: readonly SpaceRule[];
  /** One higher with each change of the space's policy; 0 when it never said anything. */
  revision: number;
}

export const NO_SPACE_POLICY: SpacePolicy = { halted: null, allowDestructive: [], rules: [], revision: 0 };

const approve = (tool: string, action: string): Rule => ({
  origin: 'builtin',
  server: BUILTIN_SERVER,
  tool,
  action,
  verdict: 'approve',
});

/** The irreversible actions that seed 000 names; all else is `auto`. */
export const BUILT_IN_RULES: readonly Rule[] = [
  approve('Mail', 'send'),
  approve('Telegram', 'send_message'),
  approve('Database', 'insert'),
  approve('Database', 'upsert'),
  approve('FileRW', 'delete'),
  approve('FTP', 'upload'),
  approve('FTP', 'delete'),
];

/** 30 calls in 60 s per user and tool (charter, section 4). */
export const RATE_LIMIT: RateLimit = { calls: 30, seconds: 60 };

/** How long a held call waits for a person unless the operator says otherwise: three days. */
export const EXPIRES_AFTER_SECONDS = 3 * 24 * 3600;

const STRICTNESS: Record<Verdict, number> = { auto: 0, approve: 1, deny: 2 };

export const stricter = (a: Verdict, b: Verdict): boolean => STRICTNESS[a] > STRICTNESS[b];

/** The rule as people write it, for events and pages. Never matched against. */
export function describeRule(rule: Rule | SpaceRule): string {
  const { tool = 'default' } = rule;
  const triple = rule.action === undefined ? tool : `${tool}.${rule.action}`;
  const server = rule.server === undefined || rule.server === BUILTIN_SERVER ? '' : ` on ${rule.server}`;
  const agent = rule.agent === undefined ? '' : ` for agent ${rule.agent}`;
  const text = `${rule.origin}: ${triple}${server}${agent}`;
  return text.length <= 300 ? text : `${text.slice(0, 299)}…`;
}
