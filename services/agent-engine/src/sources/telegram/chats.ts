import type { Identity } from '@holdpoint/contracts';
import { Refusal, requireRole } from '@holdpoint/runtime';
import type { AgentDeclaration } from '../../config.js';

/** Who a person is and what they may do now. @throws Refusal `unavailable` when that cannot be known */
export interface People {
  person(id: string): Promise<Identity | null>;
}

/** Which agent a chat talks with, and on whose behalf. */
export interface Chat {
  agent: AgentDeclaration;
  person: string;
}

/** The chats that the operator has entered, and whether their people may still start runs. */
export class Chats {
  readonly #chats: ReadonlyMap<string, Chat>;

  constructor(
    agents: Iterable<AgentDeclaration>,
    private readonly people: People,
  ) {
    this.#chats = new Map(
      [...agents].flatMap((agent) =>
        Object.entries(agent.telegram?.chats ?? {}).map(([chatId, person]) => [chatId, { agent, person }] as const),
      ),
    );
  }

  get none(): boolean {
    return this.#chats.size === 0;
  }

  find(chatId: string): Chat | undefined {
    return this.#chats.get(chatId);
  }

  /** As for a start over HTTP, by the same rule. @throws Refusal `unavailable` when nobody can tell now */
  async mayStart({ agent, person }: Chat): Promise<boolean> {
    const who = await this.people.person(person);
    if (who === null) return false;
    try {
      requireRole(who, agent.space);
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.kind !== 'unavailable') return false;
      throw error;
    }
  }
}
