import { newEvent, type Outbox, type OutboxRelay } from '@holdpoint/eventing';
import { toolId } from '@holdpoint/runtime';
import { Logger, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { AgentDeclaration } from '../config.js';
import { announcedTools } from '../store/announced-tools.js';
import type { Database } from '../store/schema.js';
import { type Announcement, announcementsOf } from './announcement.js';
import type { ToolRegistry } from './registry.js';

/**
 * Tells which tools the agents of each space have, row first: what differs from what was told last, and nothing else. It is
 * committed before this engine takes a run. Of engines with different declarations the one that started last is believed.
 */
export class Announcer implements OnModuleInit, OnApplicationBootstrap {
  readonly #log = new Logger(Announcer.name);

  constructor(
    private readonly db: Kysely<Database>,
    private readonly agents: ReadonlyMap<string, AgentDeclaration>,
    private readonly registry: ToolRegistry,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
  ) {}

  async onModuleInit(): Promise<void> {
    const declared = announcementsOf(this.agents.values(), this.registry);
    await this.db.transaction().execute(async (tx) => {
      // engines that start at once tell it one after another, so that the second one finds nothing left to tell
      const before = await announcedTools.lock(tx);
      const left = new Map(before.map((b) => [keyOf(b.spaceId, b.data), b]));
      const tell = async (spaceId: string, data: Announcement) => {
        await announcedTools.write(tx, spaceId, data);
        const entityId = toolId(data.server, data.tool);
        await this.outbox.add(tx, newEvent('tool.announced', { spaceId, entityId, data }));
        this.#log.log(`${data.withdrawn ? 'withdrawn' : 'announced'}: ${data.tool} in ${spaceId}`);
      };
      for (const { spaceId, data } of declared) {
        const key = keyOf(spaceId, data);
        const told = left.get(key);
        left.delete(key);
        if (JSON.stringify(told?.data) !== JSON.stringify(data)) await tell(spaceId, data);
      }
      for (const { spaceId, data } of left.values())
        if (!data.withdrawn) await tell(spaceId, { ...data, agents: [], withdrawn: true });
    });
  }

  onApplicationBootstrap(): void {
    this.relay.poke();
  }
}

const keyOf = (spaceId: string, { server, tool }: Announcement): string => JSON.stringify([spaceId, server, tool]);
