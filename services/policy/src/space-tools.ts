import { type Identity, type SpaceToolView, writeAction } from '@holdpoint/contracts';
import type { Policy } from './policy.js';
import type { PolicyChanges } from './policy-changes.js';
import { preferences } from './store/preferences.js';
import { registry, type ToolRow } from './store/registry.js';
import type { SpaceRows } from './store/space-policy-reader.js';

/** What the agents of a space can do, and what would become of it, for whoever decides about opt-ins and rules. */
export class SpaceTools {
  constructor(
    private readonly changes: PolicyChanges,
    private readonly policy: Policy,
  ) {}

  /** By server and name. The verdicts are those of calls whose content can be read and that no rate limit stops. */
  async list(who: Identity, spaceId: string): Promise<SpaceToolView[]> {
    const { tools, optedIn } = await this.changes.seen(who, spaceId, async (tx) => ({
      tools: (await registry.list(tx, spaceId)).filter((t) => !t.withdrawn),
      optedIn: (await preferences.find(tx, spaceId))?.allow_destructive ?? [],
    }));
    const agents = [...new Set(tools.flatMap((t) => t.agents))];
    const rows = new Map(
      await Promise.all(agents.map(async (agent) => [agent, await this.policy.read(spaceId, agent)] as const)),
    );
    return tools.map((tool) => ({
      server: tool.server,
      tool: tool.tool,
      origin: tool.origin,
      description: tool.description,
      affectedData: tool.affected_data,
      agents: tool.agents,
      actions: tool.actions.map((action) => {
        const toolName = writeAction({ server: tool.server, tool: tool.tool, action: action.name });
        return {
          toolName,
          action: action.name,
          description: action.description,
          hint: action.hint,
          scope: action.scope,
          executionClass: action.executionClass,
          optedIn: toolName !== null && optedIn.includes(toolName),
          verdicts: tool.agents.map((agent) => this.#verdict(agent, tool, action, rows.get(agent) as SpaceRows)),
        };
      }),
    }));
  }

  #verdict(agent: string, { server, tool, origin }: ToolRow, action: ToolRow['actions'][number], rows: SpaceRows) {
    const { name, hint, scope } = action;
    const stated = { agent, server, tool, action: name, hint, scope, origin };
    const { verdict, reason, rule } = this.policy.judge(stated, { readable: true, flags: [] }, rows);
    return { agent, verdict, reason, rule };
  }
}
