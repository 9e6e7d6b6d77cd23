import type { Call, ToolFacts } from './call.js';
import type { Reading } from './resolve.js';
import { BUILTIN_SERVER, type Rule, type RuleSet, type SpacePolicy, type SpaceRule } from './rules.js';
import { isPlain, readingsOf } from './spelling.js';

/** Ours only if both the engine says so and the server is the built-in one. */
export const isBuiltin = (call: Call, tool: ToolFacts): boolean =>
  tool.origin === 'builtin' && call.server === BUILTIN_SERVER;

/**
 * Whether the call names what its tool declares. Where the declaration is not known here, a name that can be read in
 * one way only, or that a rule names, is taken as declared; no action is taken as none only on a built-in tool none of
 * whose actions any rule names.
 */
export function isDeclared(call: Call, tool: ToolFacts, rules: RuleSet, space: Pick<SpacePolicy, 'rules'>): boolean {
  const { action } = call;
  if (tool.actions !== null) return action === null ? tool.actions.length === 0 : tool.actions.includes(action);
  const ruled = ruledActions(call.tool, everyRule(rules, space));
  if (action === null) return isBuiltin(call, tool) && ruled.length === 0;
  return isPlain(action) || ruled.includes(action);
}

/**
 * Everything that the call could be taken for, the call itself first. Each is judged and the strictest verdict counts,
 * so that no spelling is ever judged more mildly than the plain one: a look-alike can tighten and never loosen. A call
 * that names nothing declared could be any action of its tool, named by a rule or not.
 */
export function readingsOfCall(
  call: Call,
  tool: ToolFacts,
  rules: RuleSet,
  space: Pick<SpacePolicy, 'rules'>,
): Reading[] {
  const { agent, server, action } = call;
  const builtin = isBuiltin(call, tool);
  const all = everyRule(rules, space);
  const ruled = ruledActions(call.tool, all);
  const named = action === null ? [null] : readingsOf(action, ruled);
  const actions = isDeclared(call, tool, rules, space) ? named : [...new Set([action, null, ...ruled])];
  return readingsOf(server, namesIn(all, 'server')).flatMap((s) =>
    readingsOf(call.tool, namesIn(all, 'tool')).flatMap((t) =>
      actions.flatMap((a) =>
        readingsOf(agent, namesIn(all, 'agent')).map((who) => ({
          server: s,
          tool: t,
          action: a,
          agent: who,
          builtin: builtin && s === BUILTIN_SERVER,
        })),
      ),
    ),
  );
}

type AnyRule = Rule | SpaceRule;

const everyRule = (rules: RuleSet, space: Pick<SpacePolicy, 'rules'>): AnyRule[] => [
  ...rules.operator,
  ...rules.builtin,
  ...space.rules,
];

const namesIn = (rules: readonly AnyRule[], field: 'server' | 'tool' | 'agent'): string[] => [
  ...new Set(rules.flatMap((r) => r[field] ?? [])),
];

/** The actions that any rule names for this tool, or for one that it could be taken for. */
function ruledActions(tool: string, rules: readonly AnyRule[]): string[] {
  const tools = readingsOf(tool, namesIn(rules, 'tool'));
  return [...new Set(rules.flatMap((r) => (r.tool !== undefined && tools.includes(r.tool) ? (r.action ?? []) : [])))];
}
