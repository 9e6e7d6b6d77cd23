import type { HoldpointEvent } from '@holdpoint/contracts';
import type { Selectable, Transaction } from 'kysely';
import type { PolicyDatabase, ToolsTable } from './schema.js';

type Tx = Transaction<PolicyDatabase>;
export type ToolRow = Selectable<ToolsTable>;

/** The tools of each space. A withdrawn one keeps its row, so that an older announcement cannot bring it back. */
export const registry = {
  /** Announcements may come in any order: the one that stands last in the stream counts. */
  async put(tx: Tx, { spaceid, time, data }: HoldpointEvent<'tool.announced'>, seq: number): Promise<void> {
    const row = {
      origin: data.origin,
      description: data.description,
      affected_data: data.affectedData,
      schema_digest: data.schemaDigest,
      agents: data.agents,
      actions: JSON.stringify(data.actions),
      withdrawn: data.withdrawn,
      announced_at: new Date(time),
      stream_seq: seq,
    };
    await tx
      .insertInto('tools')
      .values({ space_id: spaceid, server: data.server, tool: data.tool, ...row })
      .onConflict((c) => c.columns(['space_id', 'server', 'tool']).doUpdateSet(row).where('tools.stream_seq', '<', seq))
      .execute();
  },

  /** By server and tool, the withdrawn ones too. */
  list: (tx: Tx, spaceId: string): Promise<ToolRow[]> =>
    tx.selectFrom('tools').selectAll().where('space_id', '=', spaceId).orderBy('server').orderBy('tool').execute(),
};
