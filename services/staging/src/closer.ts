import { Outbox, OutboxRelay } from '@holdpoint/eventing';
import type { Kysely } from 'kysely';
import { withDecision, withVote } from './facts.js';
import { noSuchCall } from './refusals.js';
import { type Closing, type FrozenCall, FrozenCalls } from './store/frozen-calls.js';
import type { StagingDatabase } from './store/schema.js';
import { type NewVote, type Vote, Votes } from './store/votes.js';

type Closed = { won: boolean; call: FrozenCall };

/** The answer that a closing rests on had run out when it was the closing's turn. Nothing was written: ask again. */
export class AnswerRunOut extends Error {
  override readonly name = 'AnswerRunOut';
}

/** The one way out of `pending` while somebody decides: of any number of racers exactly one wins (guarantee G6). */
export class Closer {
  constructor(
    private readonly db: Kysely<StagingDatabase>,
    private readonly calls: FrozenCalls,
    private readonly votes: Votes,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
  ) {}

  /**
   * Closes the call in one transaction with its event, and with the vote that closes it; when its time is over, or `closing`
   * is null, it is marked expired instead. The row is locked first and the deadline judged by a later statement, so that
   * whoever waited for the lock is judged after the wait. `won`: the call was closed as asked. `call`: as it stands now,
   * whoever closed it. @throws AnswerRunOut
   */
  async close(callId: string, closing: Closing | null, vote?: NewVote): Promise<Closed> {
    const done = await this.db.transaction().execute(async (tx): Promise<Closed> => {
      const locked = await this.#locked(tx, callId);
      if (locked.status !== 'pending') return { won: false, call: locked };
      if (vote !== undefined) await this.#add(tx, locked, vote);
      const closed = closing === null ? undefined : await this.calls.close(tx, callId, closing);
      const call = closed ?? (await this.calls.expire(tx, callId));
      if (call === undefined && closing?.validUntil !== undefined) throw new AnswerRunOut();
      if (call === undefined) throw new Error(`call ${callId} is neither in time nor overdue: the clock was set back`);
      await withDecision(call, (event) => this.outbox.add(tx, event), closed && closing?.votes);
      return { won: closed !== undefined, call };
    });
    this.relay.poke();
    return done;
  }

  /**
   * Adds a vote that does not yet release the call, in one transaction with its event; who has voted already adds nothing.
   * Votes are added one after the other. `pending`: the call still is, with these votes; otherwise somebody closed it, or
   * its time is over and it was marked expired.
   */
  async vote(callId: string, vote: NewVote): Promise<{ pending: boolean; call: FrozenCall; votes: Vote[] }> {
    const done = await this.db.transaction().execute(async (tx) => {
      const call = await this.#locked(tx, callId);
      if (call.status !== 'pending') return { pending: false, call, votes: [] };
      await this.#add(tx, call, vote);
      const expired = await this.calls.expire(tx, callId);
      if (expired === undefined) return { pending: true, call, votes: await this.votes.of(callId, tx) };
      await withDecision(expired, (event) => this.outbox.add(tx, event));
      return { pending: false, call: expired, votes: [] };
    });
    this.relay.poke();
    return done;
  }

  async #locked(tx: Parameters<FrozenCalls['lock']>[0], callId: string): Promise<FrozenCall> {
    const locked = await this.calls.lock(tx, callId);
    if (locked === undefined) throw noSuchCall();
    return locked;
  }

  async #add(tx: Parameters<FrozenCalls['lock']>[0], call: FrozenCall, vote: NewVote): Promise<void> {
    const cast = await this.votes.cast(tx, call.call_id, vote);
    if (cast !== undefined) await withVote(call, cast, (event) => this.outbox.add(tx, event));
  }
}
