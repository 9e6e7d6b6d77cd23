import { type TaskState, taskWork } from '@holdpoint/contracts';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Task } from '../domain/task.js';
import type { Database } from './schema.js';

type Row = Selectable<Database['tasks']>;
type Tx = Transaction<Database>;

/** A locked task and the database's clock after the lock was taken: deadlines are judged by it alone. */
export interface Locked {
  task: Task;
  now: Date;
}

export interface TaskFilter {
  spaces: string[];
  state?: TaskState | undefined;
  conversation?: string | undefined;
  call?: string | undefined;
}

export class Tasks {
  constructor(private readonly db: Kysely<Database>) {}

  async find(taskId: string): Promise<Task | undefined> {
    const row = await this.db.selectFrom('tasks').selectAll().where('task_id', '=', taskId).executeTakeFirst();
    return row && toTask(row);
  }

  /** Newest first. `after` is the last task of the page before. */
  async list(filter: TaskFilter, after: { createdAt: Date; id: string } | null, limit: number): Promise<Task[]> {
    let query = this.db
      .selectFrom('tasks')
      .selectAll()
      .where('space_id', '=', sql<string>`any(${filter.spaces}::text[])`);
    if (filter.state) query = query.where('state', '=', filter.state);
    if (filter.conversation) query = query.where('conversation_id', '=', filter.conversation);
    if (filter.call) query = query.where('call_id', '=', filter.call);
    if (after) query = query.where(sql<boolean>`(created_at, task_id) < (${after.createdAt}, ${after.id})`);
    const rows = await query.orderBy('created_at', 'desc').orderBy('task_id', 'desc').limit(limit).execute();
    return rows.map(toTask);
  }

  async lock(tx: Tx, taskId: string): Promise<Locked | undefined> {
    const row = await tx.selectFrom('tasks').selectAll().where('task_id', '=', taskId).forUpdate().executeTakeFirst();
    return row && { task: toTask(row), now: await clock(tx) };
  }

  /** Due open tasks, oldest first, locked; those that another scanner holds are skipped. */
  async lockDue(tx: Tx, limit: number): Promise<Locked[]> {
    const rows = await tx
      .selectFrom('tasks')
      .selectAll()
      .where('state', '=', 'open')
      .where('due_at', '<=', sql<Date>`clock_timestamp()`)
      .orderBy('due_at')
      .limit(limit)
      .forUpdate()
      .skipLocked()
      .execute();
    const now = await clock(tx);
    return rows.map((row) => ({ task: toTask(row), now }));
  }

  /** Offers that no engine took before their lease lapsed are open again, with the same attempt. */
  async reopenLapsed(): Promise<number> {
    const { numUpdatedRows } = await this.db
      .updateTable('tasks')
      .set({ state: 'open', lease_until: null })
      .where('state', '=', 'offered')
      .where('lease_until', '<', sql<Date>`clock_timestamp()`)
      .executeTakeFirst();
    return Number(numUpdatedRows);
  }

  /** @returns false when the task, or another task for its call, exists already. */
  async insert(tx: Tx, task: Task): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('tasks')
      .values({ ...identityOf(task), ...stateOf(task) })
      .onConflict((oc) => oc.doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }

  async save(tx: Tx, task: Task): Promise<void> {
    await tx.updateTable('tasks').set(stateOf(task)).where('task_id', '=', task.id).execute();
  }
}

async function clock(tx: Tx): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`SELECT clock_timestamp() AS now`.execute(tx);
  return (rows[0] as { now: Date }).now;
}

const identityOf = (t: Task) => ({
  task_id: t.id,
  space_id: t.spaceId,
  kind: t.work.wakeUp ? ('wake-up' as const) : ('prompt' as const),
  call_id: t.work.wakeUp?.callId ?? null,
  conversation_id: t.work.conversationId,
  agent: t.work.agent,
  work: JSON.stringify(t.work),
  created_by_kind: t.createdBy.kind,
  created_by_id: t.createdBy.id,
  traceparent: t.traceparent,
  created_at: t.createdAt,
});

const stateOf = (t: Task) => ({
  state: t.state,
  attempt: t.attempt,
  attempt_limit: t.attemptLimit,
  due_at: t.dueAt,
  lease_until: t.leaseUntil,
  run_id: t.runId,
  reason: t.reason,
  cancelled_by_kind: t.cancelledBy?.kind ?? null,
  cancelled_by_id: t.cancelledBy?.id ?? null,
  updated_at: t.updatedAt,
});

const toTask = (r: Row): Task => ({
  id: r.task_id,
  spaceId: r.space_id,
  work: taskWork.parse(JSON.parse(r.work)),
  createdBy: { kind: r.created_by_kind, id: r.created_by_id },
  traceparent: r.traceparent,
  state: r.state,
  attempt: r.attempt,
  attemptLimit: r.attempt_limit,
  dueAt: r.due_at,
  leaseUntil: r.lease_until,
  runId: r.run_id,
  reason: r.reason,
  cancelledBy:
    r.cancelled_by_kind === null || r.cancelled_by_id === null
      ? null
      : { kind: r.cancelled_by_kind, id: r.cancelled_by_id },
  createdAt: r.created_at,
  updatedAt: r.updated_at,
});
