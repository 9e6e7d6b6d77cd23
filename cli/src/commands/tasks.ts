import { taskState, taskView } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { misused } from '../failure.js';
import { document, say } from '../output.js';
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
