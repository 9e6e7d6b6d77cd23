import type { AuditEntry } from '@holdpoint/contracts';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { Entry } from '../domain/entry.js';
import { storable } from '../domain/message.js';
import { type ColumnType, type CopyIn, copyRows } from './binary-rows.js';
import type { Database } from './schema.js';

/** An entry as the log tells it; its arguments and its reason are named by sequence and still sealed. */
export type StoredEntry = Entry & { id: string; streamSeq: number; at: Date };

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
      const row = toRow(e);
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

const toRow = (e: StoredEntry) => ({
  stream_seq: e.streamSeq,
  event_id: e.id,
  at: e.at,
  kind: e.kind,
  space_id: e.spaceId,
  run_id: e.runId,
  task_id: e.taskId,
  call_id: e.callId,
  conversation_id: e.conversationId,
  agent: storable(e.agent),
  model: storable(e.model),
  source: e.source,
  principal_kind: e.principal.kind,
  principal_id: storable(e.principal.id),
  server: storable(e.server),
  tool: storable(e.tool),
  action: e.action === null ? null : storable(e.action),
  status: e.status,
  arguments_seq: e.argumentsSeq,
  note: storable(e.note),
  note_seq: e.noteSeq,
});

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
