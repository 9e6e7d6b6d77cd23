import { setTimeout as delay } from 'node:timers/promises';
import type { ErasureView, Principal } from '@holdpoint/contracts';
import { newEvent, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { isInfrastructureFault, Keyring } from '@holdpoint/runtime';
import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { type DestroyedKey, type Erasable, ErasableConversations } from './store/erasable-conversations.js';
import type { Database } from './store/schema.js';

const BATCH = 100;
const DAY_MS = 86_400_000;
const MOST_NAMED = 100;

/**
 * Erases content by destroying the data keys that seal it (charter, section 3): in the tables, the stream, the log and every
 * export at once. The proofs over the sealed bytes stay what they were. Nothing brings a destroyed key back but a backup.
 */
export class Erasure implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #log = new Logger(Erasure.name);
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    private readonly db: Kysely<Database>,
    private readonly conversations: ErasableConversations,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    private readonly keyring: Keyring,
    private readonly retention: { days: number; everyMs: number },
  ) {}

  onApplicationBootstrap(): void {
    this.#running = this.#run();
  }

  async onModuleDestroy(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /**
   * Each key is destroyed with its event in one transaction. A conversation in which something runs or is under way is left
   * alone. Services that opened its content before may do so for up to a minute: they keep keys that long.
   */
  async erase(which: Erasable, by: Principal, reason: string): Promise<ErasureView> {
    let destroyed = 0;
    for (let taken = BATCH; taken === BATCH && !this.#stop.signal.aborted; destroyed += taken) {
      const keys = await this.#destroy(which, by, reason);
      for (const key of keys) this.keyring.forget(key);
      taken = keys.length;
    }
    if (destroyed > 0) this.relay.poke();
    return { destroyed, busy: await this.conversations.busy(this.db, which, MOST_NAMED) };
  }

  #destroy(which: Erasable, by: Principal, reason: string): Promise<DestroyedKey[]> {
    return this.db.transaction().execute(async (tx) => {
      const keys = await this.conversations.destroyKeys(tx, which, BATCH);
      for (const { kid, spaceId, conversationId } of keys) {
        const data = { conversationId, kid, by, reason };
        await this.outbox.add(tx, newEvent('run.key-destroyed', { spaceId, entityId: conversationId, data }));
      }
      return keys;
    });
  }

  /** What is past its retention. Instances may do so at once: each key is destroyed by one of them. */
  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        const before = new Date(Date.now() - this.retention.days * DAY_MS);
        const { destroyed } = await this.erase({ before }, { kind: 'service', id: 'agent-engine' }, 'retention');
        if (destroyed > 0) this.#log.log(`${destroyed} conversations were past their retention and are erased`);
      } catch (err) {
        if (isInfrastructureFault(err)) this.#log.warn(`waiting for the database: ${(err as Error).message}`);
        else this.#log.error('erasing what is past its retention failed and is tried again', err);
      }
      await delay(this.retention.everyMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }
}
