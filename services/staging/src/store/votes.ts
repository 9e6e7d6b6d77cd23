import type { ApprovalRequirement, CastVote, Role, Sealed } from '@holdpoint/contracts';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { wallClock } from './clock.js';
import type { StagingDatabase, VotesTable } from './schema.js';

export type Vote = Selectable<VotesTable>;

export interface NewVote extends CastVote {
  digest: string;
  reason: Sealed | null;
  /** What policy asked for at that moment; null: nothing besides what is frozen. */
  requirements: readonly ApprovalRequirement[] | null;
}

/** The approvals of calls that ask for more than one owner or admin, as they were cast. */
export class Votes {
  constructor(private readonly db: Kysely<StagingDatabase>) {}

  /** Of one call, oldest first. */
  of(callId: string, db: Kysely<StagingDatabase> = this.db): Promise<Vote[]> {
    return this.#oldestFirst(db).where('call_id', '=', callId).execute();
  }

  /** Of each of these calls that has any, oldest first. */
  async ofEach(callIds: readonly string[]): Promise<Map<string, Vote[]>> {
    if (callIds.length === 0) return new Map();
    const votes = await this.#oldestFirst(this.db).where('call_id', 'in', callIds).execute();
    return Map.groupBy(votes, (v) => v.call_id);
  }

  /**
   * Adds a vote on a pending call that is not overdue, by the database's clock. The call must be locked in this
   * transaction. @returns undefined when it is overdue, or the person has voted already
   */
  cast(tx: Transaction<StagingDatabase>, callId: string, v: NewVote): Promise<Vote | undefined> {
    const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
    return tx
      .with(
        (cte) => cte('clock').materialized(),
        (q) => q.selectNoFrom(wallClock.as('at')),
      )
      .insertInto('votes')
      .columns(['call_id', 'voter', 'role', 'groups', 'digest', 'reason', 'requirements', 'at'])
      .expression((eb) =>
        eb
          .selectFrom(['frozen_calls', 'clock'])
          .select([
            'frozen_calls.call_id',
            sql<string>`${v.by}::text`.as('voter'),
            sql<Role>`${v.role}::text`.as('role'),
            sql<string[]>`${v.groups}::text[]`.as('groups'),
            sql<string>`${v.digest}::text`.as('digest'),
            sql<string | null>`${json(v.reason)}::text`.as('reason'),
            sql<string | null>`${json(v.requirements)}::jsonb`.as('requirements'),
            'clock.at',
          ])
          .where('frozen_calls.call_id', '=', callId)
          .where('frozen_calls.status', '=', 'pending')
          .whereRef('clock.at', '<', 'frozen_calls.expires_at'),
      )
      .onConflict((c) => c.doNothing())
      .returningAll()
      .executeTakeFirst();
  }

  #oldestFirst(db: Kysely<StagingDatabase>) {
    return db.selectFrom('votes').selectAll().orderBy('at').orderBy('voter');
  }
}

/** What policy asked for besides what is frozen, as the last of these votes had it. */
export const askedSince = (votes: readonly Vote[]): ApprovalRequirement[] | null => votes.at(-1)?.requirements ?? null;

export const castOf = (v: Vote): CastVote => ({ by: v.voter, role: v.role, groups: v.groups });
