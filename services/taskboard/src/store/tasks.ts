import type { TaskState } from '@holdpoint/contracts';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Task } from '../domain/task.js';
import { rowOf, stateOf, toTask } from '../domain/task-row.js';
import type { Database } from './schema.js';

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
      .values(rowOf(task))
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
