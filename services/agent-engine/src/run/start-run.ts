import type { Principal, Sealed, Source } from '@holdpoint/contracts';
import { newEvent, newId, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { Keyring } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import type { AgentDeclaration } from '../config.js';
import type { Secrets } from '../secrets/secrets.js';
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

/** A run that is ready to be queued. */
interface PreparedRun {
  order: RunOrder;
  runId: string;
  conversationId: string;
  prompt: Sealed;
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
    private readonly secrets: Secrets,
  ) {}

  /**
   * To be done before a transaction begins: making and using keys needs connections of their own. A prompt that quotes what
   * a person wrote elsewhere is scrubbed; one that was sent here has been refused.
   */
  async prepare(order: RunOrder): Promise<PreparedRun> {
    const spaceId = order.agent.space;
    const runId = newId();
    const conversationId = order.conversationId ?? newId();
    await this.keyring.create(spaceId, conversationId);
    const prompt = await this.keyring.seal(
      { conversationId, spaceId, entityId: runId, field: 'prompt' },
      this.secrets.scrub(order.prompt),
    );
    return { order, runId, conversationId, prompt };
  }

  /** @returns false when this attempt of the task has its run already. Call `wake` once the transaction has committed. */
  async queue(tx: Transaction<Database>, { order, runId, conversationId, prompt }: PreparedRun): Promise<boolean> {
    const { agent, principal, source, task } = order;
    const spaceId = agent.space;
    const provenance = {
      agent: agent.name,
      model: agent.model,
      source,
      principal,
      conversationId,
      ...(task ? { taskId: task.id } : {}),
    };
    if (order.conversationId === undefined)
      await this.runs.startConversation(tx, { conversationId, spaceId, agent: agent.name, principal });
    if (!(await this.runs.queue(tx, { runId, spaceId, provenance, attempt: task?.attempt, prompt }))) return false;
    const queued = newEvent('run.queued', {
      spaceId,
      entityId: runId,
      ...(order.causationId === undefined ? {} : { causationId: order.causationId }),
      data: { ...provenance, ...(task ? { attempt: task.attempt } : {}), prompt },
    });
    await this.outbox.add(tx, queued);
    return true;
  }

  /** @returns the id of the run, which is queued. */
  async start(order: RunOrder): Promise<string> {
    const prepared = await this.prepare(order);
    await this.db.transaction().execute((tx) => this.queue(tx, prepared));
    this.wake();
    return prepared.runId;
  }

  wake(): void {
    this.relay.poke();
    this.runner.poke();
  }
}
