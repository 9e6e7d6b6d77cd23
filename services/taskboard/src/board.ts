import type { EventData, HoldpointEvent } from '@holdpoint/contracts';
import { Discard, newEvent, Outbox } from '@holdpoint/eventing';
import { Inject, Injectable } from '@nestjs/common';
import type { Transaction } from 'kysely';
import { CONFIG, type TaskboardConfig } from './config.js';
import { conclude, type Draft, recall } from './domain/decide.js';
import { created, evolve, type Task } from './domain/task.js';
import { wakeUpTaskId } from './domain/wake-up.js';
import type { Database } from './store/schema.js';
import { type Locked, Tasks } from './store/tasks.js';

type Tx = Transaction<Database>;

/** Where a change of a task comes from; absent when a clock or a person brought it about. */
type Cause = Pick<HoldpointEvent, 'id' | 'traceparent'>;

/** Turns what was decided into a row and an event, both or neither: the row is the fold of the events. */
@Injectable()
export class Board {
  constructor(
    private readonly tasks: Tasks,
    private readonly outbox: Outbox,
    @Inject(CONFIG) private readonly config: TaskboardConfig,
  ) {}

  /** A call has one wake-up: a second one, for whatever reason, is not made. */
  async wakeUp(
    tx: Tx,
    cause: HoldpointEvent<'tool.executed' | 'approval.decided'>,
    data: EventData<'task.created'>,
  ): Promise<void> {
    const event = newEvent('task.created', {
      spaceId: cause.spaceid,
      entityId: wakeUpTaskId(cause.subject),
      callId: cause.subject,
      causationId: cause.id,
      traceparent: cause.traceparent,
      data,
    });
    if (await this.tasks.insert(tx, created(event))) await this.outbox.add(tx, event);
  }

  /** Work that a person or a service asks for. @returns undefined when there is a task of this id already */
  async order(tx: Tx, id: string, spaceId: string, data: EventData<'task.created'>): Promise<Task | undefined> {
    const event = newEvent('task.created', { spaceId, entityId: id, data });
    const task = created(event);
    if (!(await this.tasks.insert(tx, task))) return undefined;
    await this.outbox.add(tx, event);
    return task;
  }

  /** A run of a task is queued or has begun. */
  async follow(tx: Tx, run: HoldpointEvent<'run.queued' | 'run.started'>): Promise<void> {
    const { task } = await this.#lock(tx, run.data.taskId);
    const again = recall(task, run);
    if (again !== null) {
      await this.apply(tx, task, again, run);
      return;
    }
    const after = evolve(task, run);
    if (after !== task) await this.tasks.save(tx, after);
  }

  /** A run of a task is over. */
  async conclude(tx: Tx, run: HoldpointEvent<'run.completed'>): Promise<void> {
    const { task, now } = await this.#lock(tx, run.data.taskId);
    const { TASK_RETRY_BASE_MS: baseMs, TASK_RETRY_MAX_MS: maxMs } = this.config;
    const draft = conclude(task, run, now, { baseMs, maxMs });
    if (draft !== null) await this.apply(tx, task, draft, run);
  }

  /** Saves a locked task as `draft` leaves it, and promises the event. */
  async apply(tx: Tx, task: Task, draft: Draft, cause?: Cause): Promise<Task> {
    const event = newEvent(draft.type, {
      spaceId: task.spaceId,
      entityId: task.id,
      callId: task.work.wakeUp?.callId,
      causationId: cause?.id,
      traceparent: cause?.traceparent ?? task.traceparent ?? undefined,
      data: draft.data,
    });
    const after = evolve(task, event);
    await this.tasks.save(tx, after);
    await this.outbox.add(tx, event);
    return after;
  }

  async #lock(tx: Tx, taskId: string | undefined): Promise<Locked> {
    const locked = taskId === undefined ? undefined : await this.tasks.lock(tx, taskId);
    // Tasks are rows before anybody hears of them, so this run was not ours to begin with.
    if (locked === undefined) throw new Discard('the run names a task that this board does not have');
    return locked;
  }
}
