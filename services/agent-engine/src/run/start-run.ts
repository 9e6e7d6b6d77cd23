import type { Principal, Source } from '@holdpoint/contracts';
import { newEvent, newId, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { Keyring } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import type { AgentDeclaration } from '../config.js';
import type { Runs } from '../store/runs.js';
import type { Database } from '../store/schema.js';
import type { Runner } from './runner.js';

export interface RunOrder {
  /** A task may name an agent that is declared no more; its run then fails, and the task with it. */
  agent: Pick<AgentDeclaration, 'name' | 'space'> & { model: string };
  principal: Principal;
  source: Source;
  prompt: string;
  /** Absent: a new conversation begins. */
  conversationId?: string | undefined;
  task?: { id: string; attempt: number };
  causationId?: string | undefined;
}

/** Queues a run: row and event in one transaction. */
export class StartRun {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly runs: Runs,
    private readonly keyring: Keyring,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    private readonly runner: Runner,
  ) {}

  /** @returns the run's id, or undefined when this attempt of the task has its run already. */
  async queue(order: RunOrder, within?: Transaction<Database>): Promise<string | undefined> {
    const { agent, principal, source } = order;
    const spaceId = agent.space;
    const runId = newId();
    const conversationId = order.conversationId ?? newId();
    await this.keyring.create(spaceId, conversationId);
    const prompt = await this.keyring.seal({ conversationId, spaceId, entityId: runId, field: 'prompt' }, order.prompt);
    const provenance = {
      agent: agent.name,
      model: agent.model,
      source,
      principal,
      conversationId,
      ...(order.task ? { taskId: order.task.id } : {}),
    };
    const attempt = order.task?.attempt;
    const write = async (tx: Transaction<Database>) => {
      if (order.conversationId === undefined)
        await this.runs.startConversation(tx, { conversationId, spaceId, agent: agent.name, principal });
      if (!(await this.runs.queue(tx, { runId, spaceId, provenance, attempt, prompt }))) return undefined;
      await this.outbox.add(
        tx,
        newEvent('run.queued', {
          spaceId,
          entityId: runId,
          runId,
          ...(order.causationId === undefined ? {} : { causationId: order.causationId }),
          data: { ...provenance, ...(attempt === undefined ? {} : { attempt }), prompt },
        }),
      );
      return runId;
    };
    const queued = await (within ? write(within) : this.db.transaction().execute(write));
    if (!within) this.wake();
    return queued;
  }

  /** To be called after the caller's own transaction has committed. */
  wake(): void {
    this.relay.poke();
    this.runner.poke();
  }
}
