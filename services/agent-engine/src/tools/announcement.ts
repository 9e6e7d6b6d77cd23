import type { EventData } from '@holdpoint/contracts';
import type { AgentDeclaration } from '../config.js';
import type { ToolRegistry } from './registry.js';
import type { Tool } from './tool.js';

export type Announcement = EventData<'tool.announced'>;

/** What is told of each tool that an agent of the space has, by space. */
export function announcementsOf(
  agents: Iterable<Pick<AgentDeclaration, 'name' | 'space' | 'tools'>>,
  registry: ToolRegistry,
): { spaceId: string; data: Announcement }[] {
  return [...Map.groupBy(agents, (a) => a.space)].flatMap(([spaceId, members]) =>
    registry.names.flatMap((name) => {
      const tool = registry.find(name);
      const having = members.filter((a) => a.tools.includes(name)).map((a) => a.name);
      return tool && having.length > 0 ? [{ spaceId, data: announcementOf(tool, registry, having.sort()) }] : [];
    }),
  );
}

const announcementOf = (tool: Tool, registry: ToolRegistry, agents: string[]): Announcement => ({
  server: 'builtin',
  tool: tool.name,
  origin: 'builtin',
  description: cut(tool.description, 2000),
  affectedData: affectedDataOf(tool),
  schemaDigest: registry.schemaDigest(tool),
  agents,
  actions: tool.actions.map(({ name, description, hint, scope, executionClass }) => ({
    name,
    description: cut(description, 1000),
    hint,
    scope,
    executionClass,
  })),
  withdrawn: false,
});

/** Of several actions that destroy different things, each by its name. */
function affectedDataOf(tool: Tool): string | null {
  const said = tool.actions.flatMap((a) => (a.affectedData === undefined ? [] : [[a.name, a.affectedData] as const]));
  const different = new Set(said.map(([, text]) => text));
  if (different.size <= 1) return cut([...different][0] ?? '', 300) || null;
  return cut(said.map(([name, text]) => `${name}: ${text}`).join('; '), 300);
}

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
