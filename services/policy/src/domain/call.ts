import type { Hint } from '@holdpoint/contracts';

/** A call as policy sees it. */
export interface Call {
  agent: string;
  server: string;
  tool: string;
  /** The declared action; null when the call names none, or one that its tool does not declare. */
  action: string | null;
  /** What was seen in the frozen arguments. `readable` false: nobody could look. */
  content: { readable: boolean; flags: readonly string[] };
}

/** What is known of the tool besides its name. Whatever a `foreign` tool says of itself may tighten, never loosen. */
export interface ToolFacts {
  origin: 'builtin' | 'foreign';
  scope: 'user' | 'admin';
  hint: Hint;
  /** The actions that the tool declares; null when that is not known here. */
  actions: readonly string[] | null;
}
