import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { SpacePolicyAdvice } from '@holdpoint/contracts';
import type { SpacePolicyClient } from '@holdpoint/runtime';
import type { AgentDeclaration } from '../config.js';
import type { ToolRegistry } from './registry.js';
import type { Tool, ToolAction } from './tool.js';

type Told = Pick<SpacePolicyAdvice['actions'][number], 'verdict' | 'reason'>;

/** Refusals that say nothing of the action itself: they pass, and the model is told why it is refused meanwhile. */
const PASSING = ['halted', 'not-found', 'rate-limit-exceeded'];

/**
 * What of its tools an agent's model is offered. What policy would refuse is left out, so that no round is lost on it; what
 * destroys is offered only if policy says that it may be called or held. It decides nothing: a model that calls what it was
 * not offered has the call proposed and refused like any other.
 */
export class Offer {
  constructor(
    private readonly registry: ToolRegistry,
    private readonly policies: SpacePolicyClient,
  ) {}

  async toolsOf({ name: agent, space, tools: names }: AgentDeclaration): Promise<LanguageModelV4FunctionTool[]> {
    const tools = names.flatMap((name) => this.registry.find(name) ?? []);
    const advice = await this.policies.adviceOn(space, {
      agent,
      actions: tools.flatMap((t) =>
        t.actions.map(({ name, hint, scope }) => ({ ...tripleOf(t, name), hint, scope, origin: 'builtin' as const })),
      ),
    });
    const told = new Map(advice.actions.map((a) => [keyOf(a), a]));
    return tools.flatMap((tool) => {
      const offered = tool.actions.filter((a) => mayBeOffered(a, told.get(keyOf(tripleOf(tool, a.name)))));
      return offered.length === 0 ? [] : { type: 'function', ...this.registry.forModel(tool, offered) };
    });
  }
}

function mayBeOffered({ hint }: ToolAction, told: Told | undefined): boolean {
  if (told?.verdict === 'deny' && !PASSING.includes(told.reason)) return false;
  return hint !== 'destructive' || (told !== undefined && told.verdict !== 'deny');
}

const tripleOf = ({ name: tool }: Tool, action: string) => ({ server: 'builtin', tool, action });

const keyOf = ({ server, tool, action }: { server: string; tool: string; action: string | null }): string =>
  JSON.stringify([server, tool, action]);
