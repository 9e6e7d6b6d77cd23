import { readFileSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { UNCONFIGURED } from './tools/catalogue.js';
import type { ToolRegistry } from './tools/registry.js';

/** As much of a rule as names something of ours; its whole form, and the refusal of any other, is policy's. */
const rule = z.object({
  server: z.string().nullish(),
  tool: z.string(),
  action: z.string().nullish(),
  agent: z.string().nullish(),
});

/**
 * Holds the operator's rules against what exists: a rule that names nothing would be one that the operator believes in.
 * Rules for other servers are left alone.
 * @throws Error of one line, naming file, line and what is known
 */
export function checkRules(path: string, agents: ReadonlyMap<string, unknown>, registry: ToolRegistry): void {
  const lines = new LineCounter();
  const doc = parseDocument(readFileSync(path, 'utf8'), { lineCounter: lines });
  const rules: unknown = doc.toJS()?.policy?.rules;
  for (const [i, written] of (Array.isArray(rules) ? rules : []).entries()) {
    const parsed = rule.safeParse(written);
    if (!parsed.success || (parsed.data.server ?? 'builtin') !== 'builtin') continue;
    const fault = faultOf(parsed.data, agents, registry);
    if (fault === undefined) continue;
    const node = doc.getIn(['policy', 'rules', i, fault.field], true) as { range?: [number, number, number] };
    const { line } = lines.linePos(node?.range?.[0] ?? 0);
    throw new Error(`${path}:${line}: policy.rules[${i}].${fault.field}: ${fault.what}`);
  }
}

function faultOf(
  { tool, action, agent }: z.infer<typeof rule>,
  agents: ReadonlyMap<string, unknown>,
  registry: ToolRegistry,
): { field: 'tool' | 'action' | 'agent'; what: string } | undefined {
  const actions =
    registry.find(tool)?.actions.map((a) => a.name) ?? (Object.hasOwn(UNCONFIGURED, tool) ? UNCONFIGURED[tool] : null);
  const known = [...new Set([...registry.names, ...Object.keys(UNCONFIGURED)])];
  if (!actions)
    return {
      field: 'tool',
      what: `there is no tool ${JSON.stringify(tool)}; known: ${known.join(', ')}. A tool of another server is named together with its server.`,
    };
  if (action != null && !actions.includes(action))
    return {
      field: 'action',
      what: `there is no action ${JSON.stringify(action)} of ${tool}; known: ${actions.join(', ')}`,
    };
  if (agent != null && !agents.has(agent))
    return {
      field: 'agent',
      what: `there is no agent ${JSON.stringify(agent)}; declared: ${[...agents.keys()].join(', ') || 'none'}`,
    };
  return undefined;
}
