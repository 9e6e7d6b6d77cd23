import { setTimeout as sleep } from 'node:timers/promises';
import type { EventData, Identity } from '@holdpoint/contracts';
import { newEvent, type Outbox, type OutboxRelay } from '@holdpoint/eventing';
import type { Kysely, Transaction } from 'kysely';
import { roleIn } from './role-in.js';
import { asOperator, asUser, lockSpace } from './store/as-user.js';
import { nextRevision } from './store/revisions.js';
import type { PolicyDatabase } from './store/schema.js';

type Tx = Transaction<PolicyDatabase>;
type Told = Omit<EventData<'policy.changed'>, 'revision' | 'by'>;

/** Where changes that hold for every space are told. */
const EVERY_SPACE = '_all';

/** A timer may ring a little early, and an answer is good until its last millisecond. */
const SLACK_MS = 50;

export interface Changing {
  tx: Tx;
  /**
   * Takes the next revision and tells of the change, in the transaction. What is stored has this time and revision.
   * @param after the time of the change before, so that no clock turns two changes round
   */
  tell(change: Told, after?: Date): Promise<{ revision: number; at: Date }>;
}

/** What became of a change; one that tightens is answered only once nobody can act upon what was allowed before. */
export interface Changed<T> {
  value: T;
  tightens: boolean;
}

/**
 * Changes of what a space decides: one at a time, row, audit, revision and event in one transaction, as the person who
 * asks and as the role that their row has within it.
 */
export class PolicyChanges {
  constructor(
    private readonly db: Kysely<PolicyDatabase>,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    /** How long an answer of the check may be acted upon. */
    private readonly checkValidMs: number,
  ) {}

  /** What an owner or admin does. @throws Refusal for everybody else */
  ofSpace<T>(who: Identity, spaceId: string, work: (changing: Changing) => Promise<Changed<T>>): Promise<T> {
    return this.#make(who, spaceId, false, async (tx) => {
      await roleIn(tx, who, spaceId, 'owner', 'admin');
      return work(this.#changing(tx, who, spaceId));
    });
  }

  /** What an operator does to every space. Whether the person is one has to be known before. */
  ofEverySpace<T>(who: Identity, work: (changing: Changing) => Promise<Changed<T>>): Promise<T> {
    return this.#make(who, EVERY_SPACE, true, (tx) => work(this.#changing(tx, who, EVERY_SPACE)));
  }

  /** What a person may read of a space that they are a member of. @throws Refusal `not-found` */
  seen<T>(who: Identity, spaceId: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return asUser(this.db, who.id, async (tx) => {
      await roleIn(tx, who, spaceId);
      return work(tx);
    });
  }

  async #make<T>(who: Identity, spaceId: string, operator: boolean, work: (tx: Tx) => Promise<Changed<T>>): Promise<T> {
    const { value, tightens } = await asUser(this.db, who.id, async (tx) => {
      if (operator) await asOperator(tx);
      await lockSpace(tx, spaceId);
      return work(tx);
    });
    this.relay.poke();
    // Answers that were read before the commit run out no later than this after it (SpaceRows.now).
    if (tightens) await sleep(this.checkValidMs + SLACK_MS);
    return value;
  }

  #changing(tx: Tx, who: Identity, spaceId: string): Changing {
    return {
      tx,
      tell: async (change, after) => {
        const at = new Date(Math.max(Date.now(), after?.getTime() ?? 0));
        const revision = await nextRevision(tx, spaceId);
        const data = { ...change, revision, by: { kind: 'person' as const, id: who.id } };
        await this.outbox.add(tx, newEvent('policy.changed', { spaceId, entityId: spaceId, time: at, data }));
        return { revision, at };
      },
    };
  }
}
