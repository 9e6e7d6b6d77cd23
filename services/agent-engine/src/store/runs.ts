import type { EventData, Principal, Provenance, Sealed, Usage } from '@holdpoint/contracts';
import { currentTraceparent } from '@holdpoint/runtime';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Database } from './schema.js';

export type RunRow = Selectable<Database['runs']>;
type Cost = EventData<'run.completed'>['cost'];
export type Final = 'ok' | 'failed' | 'interrupted' | 'cancelled';

export const principalOf = (r: { principal_kind: Principal['kind']; principal_id: string }): Principal => ({
  kind: r.principal_kind,
  id: r.principal_id,
});

export const provenanceOf = (r: RunRow): Provenance => ({
  agent: r.agent,
  model: r.model,
  source: r.source,
  principal: principalOf(r),
  conversationId: r.conversation_id,
  ...(r.task_id === null ? {} : { taskId: r.task_id }),
});

export class Runs {
  constructor(private readonly db: Kysely<Database>) {}

  find(runId: string): Promise<RunRow | undefined> {
    return this.db.selectFrom('runs').selectAll().where('run_id', '=', runId).executeTakeFirst();
  }

  conversation(conversationId: string) {
    return this.db
      .selectFrom('conversations')
      .selectAll()
      .where('conversation_id', '=', conversationId)
      .executeTakeFirst();
  }

  async startConversation(
    tx: Transaction<Database>,
    c: { conversationId: string; spaceId: string; agent: string; principal: Principal },
  ): Promise<void> {
    await tx
      .insertInto('conversations')
      .values({
        conversation_id: c.conversationId,
        space_id: c.spaceId,
        agent: c.agent,
        principal_kind: c.principal.kind,
        principal_id: c.principal.id,
      })
      .execute();
  }

  /** The same, but for one that may be there already. */
  async openConversation(...[tx, c]: Parameters<Runs['startConversation']>): Promise<void> {
    const { kind, id } = c.principal;
    const { conversationId: conversation_id, spaceId: space_id, agent } = c;
    await tx
      .insertInto('conversations')
      .values({ conversation_id, space_id, agent, principal_kind: kind, principal_id: id })
      .onConflict((there) => there.doNothing())
      .execute();
  }

  /** @returns false when this attempt of the task has its run already. */
  async queue(
    tx: Transaction<Database>,
    r: { runId: string; spaceId: string; provenance: Provenance; attempt?: number | undefined; prompt: Sealed },
  ): Promise<boolean> {
    const p = r.provenance;
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('runs')
      .values({
        run_id: r.runId,
        space_id: r.spaceId,
        conversation_id: p.conversationId,
        agent: p.agent,
        model: p.model,
        source: p.source,
        principal_kind: p.principal.kind,
        principal_id: p.principal.id,
        task_id: p.taskId ?? null,
        attempt: r.attempt ?? null,
        prompt: JSON.stringify(r.prompt),
        state: 'queued',
        reason: null,
        result: null,
        engine: null,
        heartbeat_at: null,
        started_at: null,
        completed_at: null,
        traceparent: currentTraceparent() ?? null,
      })
      .onConflict((oc) => oc.columns(['task_id', 'attempt']).where('task_id', 'is not', null).doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }

  /**
   * Takes the oldest run that is the next one of its conversation, if that is free. A conversation's runs are played in the
   * order in which they were queued, also when several engines claim at once: of those waiting only the oldest can be
   * taken, whatever another engine has locked. The partial unique index has the last word.
   */
  async claim(tx: Transaction<Database>, engine: string): Promise<RunRow | undefined> {
    return tx
      .updateTable('runs')
      .set({
        state: 'running',
        engine,
        heartbeat_at: sql`clock_timestamp()`,
        started_at: sql`clock_timestamp()`,
      })
      .where('run_id', '=', (e) =>
        e
          .selectFrom('runs as r')
          .select('r.run_id')
          .where('r.state', '=', 'queued')
          .where((f) =>
            f.not(
              f.exists(
                f
                  .selectFrom('runs as b')
                  .select('b.run_id')
                  .whereRef('b.conversation_id', '=', 'r.conversation_id')
                  .where((g) =>
                    g.or([
                      g('b.state', '=', 'running'),
                      g.and([
                        g('b.state', '=', 'queued'),
                        sql<boolean>`(b.queued_at, b.run_id) < (r.queued_at, r.run_id)`,
                      ]),
                    ]),
                  ),
              ),
            ),
          )
          .orderBy('r.queued_at')
          .orderBy('r.run_id')
          .limit(1)
          .forUpdate()
          .skipLocked(),
      )
      .returningAll()
      .executeTakeFirst();
  }

  /** Keeps the claim. @returns undefined when the run is no longer this engine's. */
  async heartbeat(runId: string, engine: string): Promise<{ cancelRequested: boolean } | undefined> {
    const row = await this.db
      .updateTable('runs')
      .set({ heartbeat_at: sql`clock_timestamp()` })
      .where('run_id', '=', runId)
      .where('engine', '=', engine)
      .where('state', '=', 'running')
      .returning('cancel_requested')
      .executeTakeFirst();
    return row && { cancelRequested: row.cancel_requested };
  }

  /** Locks the row against a take-over until the transaction ends. @returns false when the run is no longer this engine's. */
  async stillMine(tx: Transaction<Database>, runId: string, engine: string): Promise<boolean> {
    const row = await tx
      .selectFrom('runs')
      .select('run_id')
      .where('run_id', '=', runId)
      .where('engine', '=', engine)
      .where('state', '=', 'running')
      .forShare()
      .executeTakeFirst();
    return row !== undefined;
  }

  async progress(tx: Transaction<Database>, runId: string, steps: number, usage: Usage, cost: Cost): Promise<void> {
    await tx
      .updateTable('runs')
      .set({
        steps,
        prompt_tokens: usage.promptTokens,
        completion_tokens: usage.completionTokens,
        cached_tokens: usage.cachedTokens,
        cost_amount: cost.amount,
        cost_known: cost.known,
      })
      .where('run_id', '=', runId)
      .execute();
  }

  /** What the run has cost so far. Nothing happens when the run is no longer this engine's. */
  async bill(runId: string, engine: string, cost: Cost): Promise<void> {
    await this.db
      .updateTable('runs')
      .set({ cost_amount: cost.amount, cost_known: cost.known })
      .where('run_id', '=', runId)
      .where('engine', '=', engine)
      .where('state', '=', 'running')
      .execute();
  }

  /** The model that plays the run, where it is another one than when the run was queued: provenance says what ran. */
  async playedBy(tx: Transaction<Database>, run: RunRow, model: string): Promise<RunRow> {
    if (run.model === model) return run;
    await tx.updateTable('runs').set({ model }).where('run_id', '=', run.run_id).execute();
    return { ...run, model };
  }

  /** Ends a run that `from` still describes. @returns the row as it ended, or undefined when somebody else ended it. */
  async complete(
    tx: Transaction<Database>,
    runId: string,
    from: { state: 'queued' } | { state: 'running'; engine: string },
    to: { state: Final; reason?: string | undefined; result?: Sealed | null },
  ): Promise<RunRow | undefined> {
    let update = tx
      .updateTable('runs')
      .set({
        state: to.state,
        reason: to.reason ?? null,
        result: to.result ? JSON.stringify(to.result) : null,
        completed_at: sql`clock_timestamp()`,
      })
      .where('run_id', '=', runId)
      .where('state', '=', from.state);
    if (from.state === 'running') update = update.where('engine', '=', from.engine);
    return update.returningAll().executeTakeFirst();
  }

  /** Runs whose engine has fallen silent. */
  lost(afterMs: number): Promise<RunRow[]> {
    return this.db
      .selectFrom('runs')
      .selectAll()
      .where('state', '=', 'running')
      .where('heartbeat_at', '<', sql<Date>`clock_timestamp() - ${afterMs} * interval '1 millisecond'`)
      .limit(100)
      .execute();
  }

  /** @returns the runs that are asked to stop, locked: those of the task, or the one, that have not ended. */
  async requestCancel(tx: Transaction<Database>, which: { taskId: string } | { runId: string }): Promise<RunRow[]> {
    const [column, value] =
      'taskId' in which ? (['task_id', which.taskId] as const) : (['run_id', which.runId] as const);
    return tx
      .updateTable('runs')
      .set({ cancel_requested: true })
      .where(column, '=', value)
      .where('state', 'in', ['queued', 'running'])
      .returningAll()
      .execute();
  }
}
