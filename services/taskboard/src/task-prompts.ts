import { type TaskPromptReply, type TaskPromptRequest, taskPromptReply } from '@holdpoint/contracts';
import { Refusal, type ServiceClient } from '@holdpoint/runtime';

/** Has the engine open a conversation and seal a prompt: the taskboard holds no key, and never keeps a prompt in the clear. */
export class TaskPrompts {
  constructor(private readonly engine: ServiceClient) {}

  /** @throws Refusal the engine's own (no such agent, no such conversation), or `taskboard.engine-unavailable` */
  async seal(request: TaskPromptRequest): Promise<TaskPromptReply> {
    try {
      return await this.engine.post('/internal/task-prompts', request, taskPromptReply);
    } catch (cause) {
      if (cause instanceof Refusal) throw cause;
      throw new Refusal(
        'unavailable',
        'taskboard.engine-unavailable',
        'The engine does not answer, so no task was made. Send it again in a moment, with an idempotencyKey.',
        { cause },
      );
    }
  }
}
