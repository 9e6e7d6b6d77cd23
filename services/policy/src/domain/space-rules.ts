import type { SpaceRuleView } from '@holdpoint/contracts';

/** What the space's agents have, or had: a rule about anything else would hold for nothing, or for what nobody had in mind. */
export interface KnownTool {
  server: string;
  tool: string;
  agents: readonly string[];
  actions: readonly { name: string | null }[];
}

export interface RuleObjection {
  /** Of the rule in the list. */
  index: number;
  field: 'server' | 'tool' | 'action' | 'agent' | 'verdict';
  message: string;
}

/** What is wrong with a space's list of rules: names that nothing has, and two rules for the same calls. */
export function objectionsToRules(rules: readonly SpaceRuleView[], known: readonly KnownTool[]): RuleObjection[] {
  const first = new Map<string, number>();
  return rules.flatMap((rule, index): RuleObjection[] => {
    const key = JSON.stringify([rule.server, rule.tool, rule.action, rule.agent]);
    const same = first.get(key);
    if (same !== undefined)
      return [{ index, field: 'verdict', message: `names the same calls as rule ${same}: keep one of them` }];
    first.set(key, index);
    const stranger = strangerIn(rule, known);
    return stranger === null ? [] : [{ index, field: stranger, message: `must be ${WHAT[stranger]}` }];
  });
}

const WHAT = {
  server: 'a server that tools of the space are announced from',
  tool: 'a tool of the space, as announced: GET …/tools lists them',
  action: 'an action that the tool declares: GET …/tools lists them',
  agent: 'an agent that has tools in the space',
};

function strangerIn(
  { server, tool, action, agent }: SpaceRuleView,
  known: readonly KnownTool[],
): keyof typeof WHAT | null {
  const there = known.filter((t) => server === null || t.server === server);
  if (there.length === 0 && server !== null) return 'server';
  const named = there.filter((t) => tool === null || t.tool === tool);
  if (named.length === 0 && tool !== null) return 'tool';
  if (action !== null && !named.some((t) => t.actions.some((a) => a.name === action))) return 'action';
  if (agent !== null && !known.some((t) => t.agents.includes(agent))) return 'agent';
  return null;
}
