/** Injection token of the declared agents, by name. */
export const AGENTS = Symbol('holdpoint.agents');
