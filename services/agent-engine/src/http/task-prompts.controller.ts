import { type TaskPromptReply, type TaskPromptRequest, taskPromptRequest } from '@holdpoint/contracts';
import { DATABASE, Keyring, Refusal, ServicesOnly } from '@holdpoint/runtime';
import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { AGENTS } from '../agents.js';
import type { AgentDeclaration } from '../config.js';
import { Secrets } from '../secrets/secrets.js';
import { Runs } from '../store/runs.js';
import type { Database } from '../store/schema.js';
import { refuseSecrets } from './no-secrets.js';

/** Content is sealed here alone, so that the taskboard needs no key: it asks, and keeps the box. */
@Controller('internal/task-prompts')
export class TaskPromptsController {
  constructor(
    @Inject(DATABASE) private readonly db: Kysely<Database>,
    @Inject(AGENTS) private readonly agents: Map<string, AgentDeclaration>,
    private readonly runs: Runs,
    private readonly keyring: Keyring,
    private readonly secrets: Secrets,
  ) {}

  /** A conversation that begins with a task carries the task's id, so that a repeated request opens no second one. */
  @Post()
  @HttpCode(200)
  @ServicesOnly('taskboard')
  async seal(@Body({ schema: taskPromptRequest }) asked: TaskPromptRequest): Promise<TaskPromptReply> {
    const { taskId, spaceId, agent, principal, prompt } = asked;
    if (this.agents.get(agent)?.space !== spaceId)
      throw new Refusal('not-found', 'engine.agent-not-found', `There is no such agent in the space ${spaceId}.`);
    refuseSecrets(this.secrets, 'prompt', prompt);
    const conversationId = asked.conversationId ?? taskId;
    if (asked.conversationId === undefined) {
      await this.keyring.create(spaceId, conversationId);
      await this.db
        .transaction()
        .execute((tx) => this.runs.openConversation(tx, { conversationId, spaceId, agent, principal }));
    }
    const known = await this.runs.conversation(conversationId);
    if (known?.space_id !== spaceId || known.agent !== agent)
      throw new Refusal(
        'not-found',
        'engine.conversation-not-found',
        'There is no such conversation with this agent, or you may not see it.',
      );
    const at = { conversationId, spaceId, entityId: taskId, field: 'prompt' as const };
    return { conversationId, prompt: await this.keyring.seal(at, prompt) };
  }
}
