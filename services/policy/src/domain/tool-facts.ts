import type { Hint } from '@holdpoint/contracts';
import type { ToolFacts } from './call.js';

/** A tool as the engine announced it for a space. */
export interface RegisteredTool {
  server: string;
  tool: string;
  origin: 'builtin' | 'foreign';
  /** Agents of the space that have it. */
  agents: readonly string[];
  actions: readonly { name: string | null; hint: Hint; scope: 'user' | 'admin' }[];
}

/** The tools of a space. */
export interface Registry {
  /** Whether any tool was ever announced for the space, withdrawn since or not. */
  announced: boolean;
  tools: readonly RegisteredTool[];
}

/** What a call, or a question about it, says of its tool. */
export interface StatedTool {
  agent: string;
  server: string;
  tool: string;
  action: string | null;
  origin: 'builtin' | 'foreign';
  hint: Hint;
  scope: 'user' | 'admin';
}

const HINTS: readonly Hint[] = ['read', 'write', 'destructive'];
const graver = (a: Hint, b: Hint): Hint => (HINTS.indexOf(a) > HINTS.indexOf(b) ? a : b);

/**
 * What is to be believed of the tool of a call: of what the call states and what the registry of its space holds, the
 * stricter. An action that the tool does not declare counts as the gravest of those that it does.
 *
 * A space for which no tool was ever announced has no registry; then the call's own statement is all there is.
 * @returns null when the space has a registry and the agent has no such tool by it
 */
export function factsOf(stated: StatedTool, { announced, tools }: Registry): ToolFacts | null {
  const { origin, hint, scope } = stated;
  if (!announced) return { origin, hint, scope, actions: null };
  const tool = tools.find((t) => t.server === stated.server && t.tool === stated.tool);
  if (tool === undefined || !tool.agents.includes(stated.agent)) return null;
  const called = tool.actions.filter((a) => a.name === stated.action);
  const meant = called.length > 0 ? called : tool.actions;
  return {
    origin: origin === 'builtin' && tool.origin === 'builtin' ? 'builtin' : 'foreign',
    hint: meant.map((a) => a.hint).reduce(graver, hint),
    scope: meant.some((a) => a.scope === 'admin') ? 'admin' : scope,
    actions: tool.actions.flatMap((a) => a.name ?? []),
  };
}
