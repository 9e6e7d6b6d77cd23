import { type HoldpointEvent, sealed } from '@holdpoint/contracts';
import type { Kysely, Transaction } from 'kysely';
import { approvalRowOf } from '../domain/approval-row.js';
import type { Approval } from '../domain/wake-up.js';
import type { Database } from './schema.js';

export class Approvals {
  constructor(private readonly db: Kysely<Database>) {}

  async add(tx: Transaction<Database>, event: HoldpointEvent<'approval.decided'>): Promise<void> {
    await tx
      .insertInto('approvals')
      .values(approvalRowOf(event))
      .onConflict((oc) => oc.doNothing())
      .execute();
  }

  async find(spaceId: string, callId: string): Promise<Approval | null> {
    const row = await this.db
      .selectFrom('approvals')
      .selectAll()
      .where('call_id', '=', callId)
      .where('space_id', '=', spaceId)
      .executeTakeFirst();
    if (row === undefined) return null;
    const by = row.by_kind === null || row.by_id === null ? null : { kind: row.by_kind, id: row.by_id };
    return { number: row.number, by, reason: row.reason === null ? null : sealed.parse(JSON.parse(row.reason)) };
  }
}
