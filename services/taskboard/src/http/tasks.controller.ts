import { type Identity, type TaskView, taskState, token } from '@holdpoint/contracts';
import { OutboxRelay } from '@holdpoint/eventing';
import { DATABASE, Refusal, requireRole, Who } from '@holdpoint/runtime';
import { Controller, Get, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { Board } from '../board.js';
import { cancel, type Draft, retry } from '../domain/decide.js';
import { Scanner } from '../scanner.js';
import type { Database } from '../store/schema.js';
import { type Locked, Tasks } from '../store/tasks.js';
import { cursor, cursorAfter } from './cursor.js';
import { toView } from './task-view.js';

const listQuery = z.strictObject({
  state: taskState.optional(),
  space: token.optional(),
  conversation: token.optional(),
  call: token.optional(),
  cursor: cursor.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

@Controller('v1/tasks')
export class TasksController {
  constructor(
    @Inject(DATABASE) private readonly db: Kysely<Database>,
    private readonly tasks: Tasks,
    private readonly board: Board,
    private readonly relay: OutboxRelay,
    private readonly scanner: Scanner,
  ) {}

  /** Tasks of one's spaces, newest first. */
  @Get()
  async list(@Query({ schema: listQuery }) query: z.infer<typeof listQuery>, @Who() who: Identity) {
    if (query.space !== undefined) requireRole(who, query.space);
    const spaces = query.space === undefined ? Object.keys(who.spaces) : [query.space];
    const { state, conversation, call, limit } = query;
    const found = await this.tasks.list({ spaces, state, conversation, call }, query.cursor ?? null, limit + 1);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return { items: page.map(toView), ...(found.length > limit && last ? { nextCursor: cursorAfter(last) } : {}) };
  }

  @Get(':id')
  async show(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<TaskView> {
    const task = await this.tasks.find(id);
    if (task === undefined) throw notFound();
    requireRole(who, task.spaceId);
    return toView(task);
  }

  /** Opens a dead task again, for five more attempts. Owners and admins. */
  @Post(':id/retry')
  @HttpCode(200)
  retry(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<TaskView> {
    return this.#command(id, who, ({ task, now }) => {
      const draft = retry(task, { kind: 'person', id: who.id }, now);
      if (draft !== null) return draft;
      throw wrongState({ task, now }, 'Only a dead task can be retried');
    });
  }

  /** Ends a task that is neither done nor cancelled; its queued or running run is cancelled. Owners and admins. */
  @Post(':id/cancel')
  @HttpCode(200)
  cancel(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<TaskView> {
    return this.#command(id, who, (locked) => {
      const draft = cancel(locked.task, { kind: 'person', id: who.id });
      if (draft !== null) return draft;
      throw wrongState(locked, 'A task that is done or cancelled cannot be cancelled');
    });
  }

  async #command(id: string, who: Identity, decide: (locked: Locked) => Draft): Promise<TaskView> {
    const after = await this.db.transaction().execute(async (tx) => {
      const locked = await this.tasks.lock(tx, id);
      if (locked === undefined) throw notFound();
      requireRole(who, locked.task.spaceId, 'owner', 'admin');
      return this.board.apply(tx, locked.task, decide(locked));
    });
    this.relay.poke();
    this.scanner.poke();
    return toView(after);
  }
}

const notFound = (): Refusal =>
  new Refusal('not-found', 'taskboard.no-task', 'There is no such task, or you are not a member of its space.');

const wrongState = ({ task }: Locked, rule: string): Refusal => {
  const since = task.updatedAt.toISOString();
  return new Refusal('conflict', 'taskboard.wrong-state', `${rule}; this one is ${task.state} since ${since}.`, {
    extras: { state: task.state, since },
  });
};
