import { Outbox, OutboxRelay } from '@holdpoint/eventing';
import type { Kysely } from 'kysely';
import { withDecision } from './facts.js';
import { noSuchCall } from './refusals.js';
import { type Closing, type FrozenCall, FrozenCalls } from './store/frozen-calls.js';
import type { StagingDatabase } from './store/schema.js';

/** The one way out of `pending` while somebody decides: of any number of racers exactly one wins (guarantee G6). */
export class Closer {
  constructor(
    private readonly db: Kysely<StagingDatabase>,
    private readonly calls: FrozenCalls,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
  ) {}

  /**
   * Closes the call in one transaction with its event; when its time is over, or `closing` is null, it is marked expired
   * instead. The row is locked first and the deadline judged by a later statement, so that whoever waited for the lock
   * is judged after the wait. `won`: the call was closed as asked. `call`: as it stands now, whoever closed it.
   */
  async close(callId: string, closing: Closing | null): Promise<{ won: boolean; call: FrozenCall }> {
    const done = await this.db.transaction().execute(async (tx) => {
      const locked = await this.calls.lock(tx, callId);
      if (locked === undefined) throw noSuchCall();
      if (locked.status !== 'pending') return { won: false, call: locked };
      const closed = closing === null ? undefined : await this.calls.close(tx, callId, closing);
      const call = closed ?? (await this.calls.expire(tx, callId));
      if (call === undefined) throw new Error(`call ${callId} is neither in time nor overdue: the clock was set back`);
      await withDecision(call, (event) => this.outbox.add(tx, event));
      return { won: closed !== undefined, call };
    });
    this.relay.poke();
    return done;
  }
}
