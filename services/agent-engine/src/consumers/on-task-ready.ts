import type { HoldpointEvent, Sealed, WakeUp } from '@holdpoint/contracts';
import { Discard, type EventContext, OnEvent } from '@holdpoint/eventing';
import { ContentDestroyed, ContentUnreadable, Keyring } from '@holdpoint/runtime';
import { Controller, Inject } from '@nestjs/common';
import { AGENTS, Wording } from '../agents.js';
import type { AgentDeclaration } from '../config.js';
import { StartRun } from '../run/start-run.js';
import { Runs } from '../store/runs.js';

@Controller()
export class OnTaskReady {
  constructor(
    @Inject(AGENTS) private readonly agents: Map<string, AgentDeclaration>,
    private readonly runs: Runs,
    private readonly keyring: Keyring,
    private readonly startRun: StartRun,
    private readonly wording: Wording,
  ) {}

  @OnEvent('task.ready.>')
  async handle(event: HoldpointEvent<'task.ready'>, ctx: EventContext): Promise<void> {
    const { work, attempt } = event.data;
    const taskId = event.subject;
    const declared = this.agents.get(work.agent);
    const agent =
      declared?.space === event.spaceid ? declared : { name: work.agent, space: event.spaceid, model: 'unknown' };
    const conversation = await this.runs.conversation(work.conversationId);
    if (conversation?.space_id !== event.spaceid) throw new Discard('no such conversation in this space');

    const prompt = work.wakeUp
      ? await this.#wakeUpText(event.spaceid, work.agent, work.wakeUp)
      : await this.#open(event.spaceid, taskId, 'prompt', work.prompt ?? null);
    if (prompt === null) throw new Discard('the task asks for nothing');
    const run = await this.startRun.prepare({
      agent,
      principal: work.principal,
      source: 'task',
      prompt,
      conversationId: work.conversationId,
      task: { id: taskId, attempt },
      causationId: event.id,
    });
    await ctx.once(async (tx) => {
      await this.startRun.queue(tx, run);
    });
    this.startRun.wake();
  }

  async #wakeUpText(spaceId: string, agent: string, w: WakeUp): Promise<string> {
    const result = await this.#open(spaceId, w.callId, 'result', w.result);
    const reason = await this.#open(spaceId, w.callId, 'reason', w.reason);
    return this.wording.of(agent).wakeUp(w, spaceId, result, reason);
  }

  async #open(
    spaceId: string,
    entityId: string,
    field: 'prompt' | 'result' | 'reason',
    box: Sealed | null,
  ): Promise<string | null> {
    if (box === null) return null;
    try {
      return Buffer.from(await this.keyring.open(box, { spaceId, entityId, field })).toString('utf8');
    } catch (error) {
      if (error instanceof ContentDestroyed || error instanceof ContentUnreadable) return null;
      throw error;
    }
  }
}
