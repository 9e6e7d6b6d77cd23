import { taskState, taskView } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { misused } from '../failure.js';
import { document, say } from '../output.js';
import { parseId } from '../refs.js';
import { inline, span, table } from '../text.js';

interface TasksOptions {
  json?: boolean;
  state?: string;
  space?: string;
  conversation?: string;
}

export async function tasks(client: Client, o: TasksOptions): Promise<number> {
  if (o.state !== undefined && !taskState.safeParse(o.state).success)
    throw misused(`A task is one of: ${taskState.options.join(', ')}.`);
  const { json, ...query } = o;
  const items = await client.all('taskboard', '/v1/tasks', query as Record<string, string>, taskView);
  if (json) document({ items });
  else if (items.length === 0) say('There are no tasks.');
  else
    say(
      ...table(
        ['TASK', 'SPACE', 'KIND', 'AGENT', 'STATE', 'ATTEMPT', 'AGE', 'RUN', 'REASON'],
        items.map((t) => [
          t.id,
          t.spaceId,
          t.kind,
          inline(t.agent, 24),
          t.state,
          String(t.attempt),
          span(Date.now() - Date.parse(t.createdAt)),
          t.runId ?? '-',
          t.reason === null ? '' : inline(t.reason),
        ]),
      ),
    );
  return 0;
}

interface CreateOptions {
  json?: boolean;
  space?: string;
  conversation?: string;
  due?: string;
  key?: string;
}

/** Has an agent do something later, or at once but without waiting for it. */
export async function createTask(client: Client, agent: string, prompt: string[], o: CreateOptions): Promise<number> {
  const due = o.due === undefined ? undefined : new Date(o.due);
  if (due !== undefined && Number.isNaN(due.getTime()))
    throw misused('--due is a point in time, such as 2030-01-31T09:00:00Z.');
  const body = {
    agent,
    prompt: prompt.join(' '),
    ...(o.space === undefined ? {} : { space: o.space }),
    ...(o.conversation === undefined ? {} : { conversationId: parseId(o.conversation) }),
    ...(due === undefined ? {} : { dueAt: due.toISOString() }),
    ...(o.key === undefined ? {} : { idempotencyKey: o.key }),
  };
  const task = await client.post('taskboard', '/v1/tasks', body, taskView);
  if (o.json) document(task);
  else say(`Task ${task.id} is ${task.state}, due ${task.dueAt}, in conversation ${task.conversationId}.`);
  return 0;
}

/** Opens a dead task again, or ends one that is not finished. */
export async function commandTask(
  client: Client,
  command: 'retry' | 'cancel',
  ref: string,
  o: { json?: boolean },
): Promise<number> {
  const task = await client.post('taskboard', `/v1/tasks/${parseId(ref)}/${command}`, {}, taskView);
  if (o.json) document(task);
  else say(`Task ${task.id} is ${task.state}${command === 'retry' ? `, attempt ${task.attempt}` : ''}.`);
  return 0;
}
