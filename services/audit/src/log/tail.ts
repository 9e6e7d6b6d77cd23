import { setTimeout as delay } from 'node:timers/promises';
import { explain, type ToldEvent, withoutBoxes } from '@holdpoint/contracts';
import { DATABASE } from '@holdpoint/runtime';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { read } from '../domain/message.js';
import { EventLog, type LoggedMessage, type TailFilter } from '../store/event-log.js';
import { positionOf } from '../store/position.js';
import type { Database } from '../store/schema.js';

const LOOK_EVERY_MS = 250;

/** An event of the log, or how far it was looked through without finding one. */
export type Told = ToldEvent | { seq: number; event: null };

/**
 * Tells the log's events in stream order as they are logged, whichever instance writes them. Rows become visible in the
 * order of their sequences, since one writer at a time stores them, so that going on behind the last one misses none.
 */
@Injectable()
export class Tail implements OnModuleDestroy {
  readonly #stopping = new AbortController();

  constructor(
    private readonly log: EventLog,
    @Inject(DATABASE) private readonly db: Kysely<Database>,
  ) {}

  onModuleDestroy(): void {
    this.#stopping.abort();
  }

  /**
   * From behind `after` (default: the end of the log as it is now) until `signal` aborts or the service stops.
   * @param spaces the spaces to tell of, asked again before each event; what it throws ends the tail
   */
  async *follow(
    filter: TailFilter,
    spaces: () => Promise<string[]>,
    after: number | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Told> {
    const stop = AbortSignal.any([signal, this.#stopping.signal]);
    let seq = after ?? (await positionOf(this.db))?.lastSeq ?? 0;
    yield { seq, event: null };
    while (!stop.aborted) {
      const lastSeq = (await positionOf(this.db))?.lastSeq ?? 0;
      const found = await this.log.behind(seq, lastSeq, filter, await spaces());
      for (const message of found.messages) {
        if ((await spaces()).includes(message.spaceId ?? '')) yield told(message);
        if (stop.aborted) return;
      }
      seq = found.upTo;
      yield { seq, event: null };
      if (seq >= lastSeq) await delay(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  }
}

function told(message: LoggedMessage): ToldEvent {
  const { event } = read({ ...message, brokerHeaders: false });
  return {
    seq: message.seq,
    words: event ? explain(event) : 'an event that this version cannot read',
    event: withoutBoxes(JSON.parse(message.bytes.toString('utf8'))) as ToldEvent['event'],
  };
}
