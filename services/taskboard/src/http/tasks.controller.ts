import {
  type CreateTaskRequest,
  createTaskRequest,
  type Identity,
  type TaskView,
  taskState,
  token,
} from '@holdpoint/contracts';
import { newId, OutboxRelay } from '@holdpoint/eventing';
import { DATABASE, inTraceOf, Refusal, requireRole, sha256Hex, Who } from '@holdpoint/runtime';
import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Res } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { Board } from '../board.js';
import { cancel, type Draft, retry } from '../domain/decide.js';
import { Scanner } from '../scanner.js';
import type { Database } from '../store/schema.js';
import { type Locked, Tasks } from '../store/tasks.js';
import { TaskPrompts } from '../task-prompts.js';
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
    private readonly prompts: TaskPrompts,
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
    requireRole(who, task?.spaceId);
    if (task === undefined) throw new Error('a task without a space');
    return toView(task);
  }

  /**
   * Work for an agent, from a member or from a service. 201 with the task; with a key that its creator has used before, 200
   * with the task that the key stands for, if agent and conversation are the same.
   */
  @Post()
  async create(
    @Body({ schema: createTaskRequest }) body: CreateTaskRequest,
    @Who() who: Identity,
    @Res({ passthrough: true }) reply: { status: (code: number) => unknown },
  ): Promise<TaskView> {
    const spaceId = spaceOf(who, body.space);
    const principal = { kind: who.kind, id: who.id };
    const id = taskIdOf(spaceId, who, body.idempotencyKey);
    const { agent, conversationId, prompt, dueAt = new Date().toISOString() } = body;
    let task = await this.tasks.find(id);
    if (task === undefined) {
      const box = await this.prompts.seal({
        taskId: id,
        spaceId,
        agent,
        principal,
        prompt,
        ...(conversationId === undefined ? {} : { conversationId }),
      });
      const work = { conversationId: box.conversationId, agent, principal, prompt: box.prompt };
      const ordered = await this.db
        .transaction()
        .execute((tx) => this.board.order(tx, id, spaceId, { work, createdBy: principal, dueAt }));
      if (ordered !== undefined) {
        this.relay.poke();
        this.scanner.poke();
        return toView(ordered);
      }
      task = await this.tasks.find(id);
    }
    if (task?.work.agent !== agent || task.work.conversationId !== (conversationId ?? id))
      throw new Refusal(
        'conflict',
        'taskboard.key-used',
        'This idempotencyKey stands for another task of yours. Take a new key for new work.',
        { extras: { taskId: id } },
      );
    reply.status(200);
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
      requireRole(who, locked?.task.spaceId, 'owner', 'admin');
      if (locked === undefined) throw new Error('a task without a space');
      const { task } = locked;
      const draft = decide(locked);
      const named = { 'holdpoint.space.id': task.spaceId, 'holdpoint.task.id': task.id };
      return inTraceOf(task.traceparent, 'command task', named, () => this.board.apply(tx, task, draft));
    });
    this.relay.poke();
    this.scanner.poke();
    return toView(after);
  }
}

/** A person's own space; a service is nobody's member and is taken at its word. */
function spaceOf(who: Identity, named: string | undefined): string {
  const [only, ...more] = Object.keys(who.spaces);
  const space = named ?? (more.length === 0 ? only : undefined);
  if (space === undefined)
    throw new Refusal('invalid', 'request.invalid', 'Say in which space the task is.', {
      errors: [{ field: 'space', message: 'is needed: you are in none or in several' }],
    });
  if (who.kind === 'person') requireRole(who, space);
  return space;
}

/** Derived from space, creator and key, so that the tasks' primary key is what makes a repetition harmless. */
const taskIdOf = (spaceId: string, { kind, id }: Identity, key: string | undefined): string =>
  key === undefined ? newId() : `key-${sha256Hex(JSON.stringify([spaceId, kind, id, key])).slice(0, 40)}`;

const wrongState = ({ task }: Locked, rule: string): Refusal => {
  const since = task.updatedAt.toISOString();
  return new Refusal('conflict', 'taskboard.wrong-state', `${rule}; this one is ${task.state} since ${since}.`, {
    extras: { state: task.state, since },
  });
};
