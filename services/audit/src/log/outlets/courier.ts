import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { checkpointsBehind, signingKeys } from '../../store/checkpoints.js';
import type { Database } from '../../store/schema.js';
import type { Outlet } from './outlet.js';

const AT_ONCE = 200;

/**
 * Brings stored checkpoints to an outlet, in order, each key before the first checkpoint that it signed. What an outlet did
 * not take is brought again, for ever: what the outlet holds is the record of what was brought.
 */
export class Courier {
  readonly #log = new Logger('AuditLog');
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #poked = false;
  #trouble: string | undefined;

  constructor(
    private readonly db: Kysely<Database>,
    private readonly outlet: Pick<Outlet, 'name' | 'put'>,
    /** Number of the last checkpoint that the outlet has. */
    private brought: number,
    private readonly retryMs: number,
  ) {}

  /** There may be something to bring. */
  poke(): void {
    this.#poked = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#poked && !this.#stopping.signal.aborted) this.poke();
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#poked && !signal.aborted) {
      this.#poked = false;
      try {
        while (!signal.aborted && (await this.#bringSome()));
        if (this.#trouble !== undefined) this.#log.log(`${this.outlet.name} has every checkpoint again`);
        this.#trouble = undefined;
      } catch (err) {
        const trouble = err instanceof Error ? err.message : String(err);
        if (trouble !== this.#trouble)
          this.#log.warn(`${this.outlet.name} does not take checkpoint ${this.brought + 1}: ${trouble}; trying again`);
        this.#trouble = trouble;
        this.#poked = true;
        await delay(this.retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #bringSome(): Promise<boolean> {
    const checkpoints = await checkpointsBehind(this.db, this.brought, AT_ONCE);
    if (checkpoints.length === 0) return false;
    const keys = await signingKeys(this.db);
    for (const { number, note } of checkpoints) {
      for (const key of keys.filter((k) => k.checkpoint === number))
        await this.outlet.put({ kind: 'key', note: key.note });
      await this.outlet.put({ kind: 'checkpoint', note });
      this.brought = number;
      if (this.#stopping.signal.aborted) return false;
    }
    return true;
  }
}
