import type { Principal } from '@holdpoint/contracts';
import { type Kysely, sql, type Transaction } from 'kysely';
import { exhausted } from '../domain/rate-limit.js';
import type { RateLimit } from '../domain/rules.js';
import type { PolicyDatabase } from './schema.js';

/** A call that nothing else refuses, at its proposal's time by the stream's clock. */
export interface Counted {
  callId: string;
  spaceId: string;
  principal: Principal;
  server: string;
  tool: string;
  at: Date;
}

/**
 * Which calls passed the rate limit, one row a call. The row is the answer: a redelivery, or another instance that has the
 * same call, finds it and changes nothing. Calls of one user and tool are counted one after the other, by a lock that
 * ends with the transaction.
 */
export class RateCalls {
  constructor(private readonly db: Kysely<PolicyDatabase>) {}

  /** Counts the call once. @returns false when it is one too many */
  passes(call: Counted, limit: RateLimit): Promise<boolean> {
    const { principal, server, tool, at } = call;
    return this.db.transaction().execute(async (tx) => {
      const counter = JSON.stringify(['holdpoint.rate', principal.kind, principal.id, server, tool]);
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${counter}, 0))`.execute(tx);
      const counted = await tx
        .selectFrom('rate_calls')
        .select('passed')
        .where('call_id', '=', call.callId)
        .executeTakeFirst();
      if (counted !== undefined) return counted.passed;
      const passed = !exhausted(await this.#near(tx, call, limit), at, limit);
      await tx
        .insertInto('rate_calls')
        .values({
          call_id: call.callId,
          space_id: call.spaceId,
          user_kind: principal.kind,
          user_id: principal.id,
          server,
          tool,
          at,
          passed,
        })
        .execute();
      return passed;
    });
  }

  async #near(tx: Transaction<PolicyDatabase>, { principal, server, tool, at }: Counted, limit: RateLimit) {
    const span = limit.seconds * 1000;
    const rows = await tx
      .selectFrom('rate_calls')
      .select('at')
      .where('user_kind', '=', principal.kind)
      .where('user_id', '=', principal.id)
      .where('server', '=', server)
      .where('tool', '=', tool)
      .where('passed', '=', true)
      .where('at', '>', new Date(at.getTime() - span))
      .where('at', '<', new Date(at.getTime() + span))
      .execute();
    return rows.map((row) => row.at);
  }

  /** Removes what no limit looks back to any more: the longest one spans an hour. @returns how many rows went */
  async forget(): Promise<number> {
    const { numDeletedRows } = await this.db
      .deleteFrom('rate_calls')
      .where('at', '<', sql<Date>`clock_timestamp() - interval '1 day'`)
      .executeTakeFirst();
    return Number(numDeletedRows);
  }
}
