import type { AgentDeclaration } from './config.js';
import { type Words, words } from './domain/words.js';

/** Injection token of the declared agents, by name. */
export const AGENTS = Symbol('holdpoint.agents');

/** What an agent is told, in its language; an agent that is declared no more is told in English. */
export class Wording {
  constructor(private readonly agents: ReadonlyMap<string, Pick<AgentDeclaration, 'language'>>) {}

  of(agent: string): Words {
    return words[this.agents.get(agent)?.language ?? 'en'];
  }
}
