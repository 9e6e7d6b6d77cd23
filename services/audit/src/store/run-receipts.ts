import type { Receipt } from '@holdpoint/contracts';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { receiptRowOf } from '../domain/rows.js';
import type { Page } from './audit-log.js';
import type { Database } from './schema.js';

export interface ReceiptFilter {
  spaces: string[];
  run?: string | undefined;
  task?: string | undefined;
}

/** What all runs of a filter came to: the cost of an outcome is the sum over its task's receipts (seed 003). */
export interface Totals {
  receipts: number;
  steps: number;
  usage: Receipt['usage'];
  /** Of what is known; `known` says whether that is everything. */
  cost: Receipt['cost'];
  /** Receipts whose cost nobody knows. */
  unknownCosts: number;
  durationMs: number;
}

/** A run has one receipt, the first: a second `run.completed` is in the log and changes nothing here. */
export async function insertReceipts(tx: Transaction<Database>, receipts: Receipt[]): Promise<void> {
  if (receipts.length === 0) return;
  await tx
    .insertInto('run_receipts')
    .values(receipts.map(receiptRowOf))
    .onConflict((oc) => oc.column('run_id').doNothing())
    .execute();
}

export class RunReceipts {
  constructor(private readonly db: Kysely<Database>) {}

  async find(runId: string): Promise<Receipt | undefined> {
    const row = await this.db.selectFrom('run_receipts').selectAll().where('run_id', '=', runId).executeTakeFirst();
    return row && toReceipt(row);
  }

  async list(filter: ReceiptFilter, page: Page): Promise<Receipt[]> {
    let query = this.#matching(filter).selectAll();
    if (page.after !== null) query = query.where('stream_seq', page.order === 'asc' ? '>' : '<', page.after);
    const rows = await query.orderBy('stream_seq', page.order).limit(page.limit).execute();
    return rows.map(toReceipt);
  }

  async totals(filter: ReceiptFilter): Promise<Totals> {
    const row = await this.#matching(filter)
      .select([
        sql<number>`count(*)`.as('receipts'),
        sql<number>`coalesce(sum(steps), 0)::bigint`.as('steps'),
        sql<number>`coalesce(sum(prompt_tokens), 0)::bigint`.as('prompt'),
        sql<number>`coalesce(sum(completion_tokens), 0)::bigint`.as('completion'),
        sql<number>`coalesce(sum(cached_tokens), 0)::bigint`.as('cached'),
        sql<string>`coalesce(sum(cost_amount) filter (where cost_known), 0)::text`.as('amount'),
        sql<boolean>`coalesce(bool_and(cost_known), false)`.as('known'),
        sql<number>`count(*) filter (where not cost_known)`.as('unknown'),
        sql<number>`coalesce(sum(duration_ms), 0)::bigint`.as('duration'),
      ])
      .executeTakeFirstOrThrow();
    return {
      receipts: row.receipts,
      steps: row.steps,
      usage: { promptTokens: row.prompt, completionTokens: row.completion, cachedTokens: row.cached },
      cost: { amount: row.amount, known: row.known },
      unknownCosts: row.unknown,
      durationMs: row.duration,
    };
  }

  #matching({ spaces, run, task }: ReceiptFilter) {
    let query = this.db.selectFrom('run_receipts').where('space_id', '=', sql<string>`any(${spaces}::text[])`);
    if (run) query = query.where('run_id', '=', run);
    if (task) query = query.where('task_id', '=', task);
    return query;
  }
}

export const toReceipt = (r: Selectable<Database['run_receipts']>): Receipt => ({
  runId: r.run_id,
  spaceId: r.space_id,
  agent: r.agent,
  model: r.model,
  source: r.source,
  principal: { kind: r.principal_kind, id: r.principal_id },
  conversationId: r.conversation_id,
  ...(r.task_id === null ? {} : { taskId: r.task_id }),
  attempt: r.attempt,
  status: r.status,
  reason: r.reason,
  steps: r.steps,
  usage: { promptTokens: r.prompt_tokens, completionTokens: r.completion_tokens, cachedTokens: r.cached_tokens },
  cost: { amount: r.cost_amount, known: r.cost_known },
  resultSeq: r.result_seq,
  durationMs: r.duration_ms,
  completedAt: r.completed_at.toISOString(),
  streamSeq: r.stream_seq,
});
