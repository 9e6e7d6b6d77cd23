import type { TaskView } from '@holdpoint/contracts';
import type { Task } from '../domain/task.js';

export const toView = (task: Task): TaskView => ({
  id: task.id,
  spaceId: task.spaceId,
  conversationId: task.work.conversationId,
  agent: task.work.agent,
  kind: task.work.wakeUp ? 'wake-up' : 'prompt',
  callId: task.work.wakeUp?.callId ?? null,
  state: task.state,
  attempt: task.attempt,
  runId: task.runId,
  dueAt: task.dueAt.toISOString(),
  createdAt: task.createdAt.toISOString(),
  updatedAt: task.updatedAt.toISOString(),
  reason: task.reason,
});
