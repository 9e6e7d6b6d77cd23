import type { AuditEntry } from '@holdpoint/contracts';
import { type Kysely, type Selectable, sql } from 'kysely';
import { entryRowOf, type StoredEntry } from '../domain/rows.js';
import { type ColumnType, type CopyIn, copyRows } from './binary-rows.js';
import type { Database } from './schema.js';

export interface EntryFilter {
  spaces: string[];
  run?: string | undefined;
  task?: string | undefined;
  call?: string | undefined;
  tool?: string | undefined;
  action?: string | undefined;
  agent?: string | undefined;
  status?: AuditEntry['status'] | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export interface Page {
  order: 'asc' | 'desc';
  /** Sequence of the last item of the page before. Rows never change and never come in between, so a cursor never skips. */
  after: number | null;
  limit: number;
}

/** Within the transaction that is open on the session. */
export async function copyEntries(copyIn: CopyIn, entries: StoredEntry[]): Promise<void> {
  await copyRows(
    copyIn,
    'audit.audit_log',
    TYPES,
    entries.map((e) => {
      const row = entryRowOf(e);
      return COLUMNS.map((column) => row[column]);
    }),
  );
}

export class AuditLog {
  constructor(private readonly db: Kysely<Database>) {}

  async list(f: EntryFilter, page: Page): Promise<StoredEntry[]> {
    let query = this.db
      .selectFrom('audit_log')
      .selectAll()
      .where('space_id', '=', sql<string>`any(${f.spaces}::text[])`);
    if (f.run) query = query.where('run_id', '=', f.run);
    if (f.task) query = query.where('task_id', '=', f.task);
    if (f.call) query = query.where('call_id', '=', f.call);
    if (f.tool) query = query.where('tool', '=', f.tool);
    if (f.action) query = query.where('action', '=', f.action);
    if (f.agent) query = query.where('agent', '=', f.agent);
    if (f.status) query = query.where('status', '=', f.status);
    if (f.from) query = query.where('at', '>=', new Date(f.from));
    if (f.to) query = query.where('at', '<', new Date(f.to));
    if (page.after !== null) query = query.where('stream_seq', page.order === 'asc' ? '>' : '<', page.after);
    const rows = await query.orderBy('stream_seq', page.order).limit(page.limit).execute();
    return rows.map(toEntry);
  }
}

const TYPES = {
  stream_seq: 'int8',
  event_id: 'text',
  at: 'timestamptz',
  kind: 'text',
  space_id: 'text',
  run_id: 'text',
  task_id: 'text',
  call_id: 'text',
  conversation_id: 'text',
  agent: 'text',
  model: 'text',
  source: 'text',
  principal_kind: 'text',
  principal_id: 'text',
  server: 'text',
  tool: 'text',
  action: 'text',
  status: 'text',
  arguments_seq: 'int8',
  note: 'text',
  note_seq: 'int8',
} satisfies Record<keyof Database['audit_log'], ColumnType>;
const COLUMNS = Object.keys(TYPES) as (keyof typeof TYPES)[];

export const toEntry = (r: Selectable<Database['audit_log']>): StoredEntry => ({
  id: r.event_id,
  streamSeq: r.stream_seq,
  at: r.at,
  kind: r.kind,
  spaceId: r.space_id,
  runId: r.run_id,
  taskId: r.task_id,
  callId: r.call_id,
  conversationId: r.conversation_id,
  agent: r.agent,
  model: r.model,
  source: r.source,
  principal: { kind: r.principal_kind, id: r.principal_id },
  server: r.server,
  tool: r.tool,
  action: r.action,
  status: r.status,
  argumentsSeq: r.arguments_seq,
  note: r.note,
  noteSeq: r.note_seq,
});
