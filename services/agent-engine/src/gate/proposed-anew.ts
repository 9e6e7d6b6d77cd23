import { newId, StreamReader } from '@holdpoint/eventing';
import { continuing, Refusal } from '@holdpoint/runtime';
import { Logger } from '@nestjs/common';
import type { Transaction } from 'kysely';
import { Wording } from '../agents.js';
import type { AgentDeclaration } from '../config.js';
import type { Recovery } from '../run/recovery.js';
import type { Calls, OpenCall } from '../store/calls.js';
import { claimOf, type ExecutionRow, type Executions } from '../store/executions.js';
import type { Runs } from '../store/runs.js';
import type { Database } from '../store/schema.js';
import type { CallContent } from './content.js';
import { placeOf } from './effects.js';
import type { FrozenArguments } from './frozen-arguments.js';
import type { Gate } from './gate.js';

/** Longer than a verdict and a number are waited for: after that the engine that followed the call is taken for lost. */
const FOLLOWED_FOR_MS = 30_000;

/**
 * What a person settled as "did not happen" and wants all the same: a new call of the same run, with the same argument
 * bytes and a digest of its own, through the gate like any other. The row of the call is committed with the settling;
 * whichever engine comes first proposes it, and closes it if an engine died on the way.
 */
export class ProposedAnew {
  readonly what = 'proposing calls anew';
  readonly #log = new Logger(ProposedAnew.name);

  constructor(
    private readonly agents: Map<string, AgentDeclaration>,
    private readonly runs: Runs,
    private readonly calls: Calls,
    private readonly executions: Executions,
    private readonly frozen: FrozenArguments,
    private readonly content: CallContent,
    private readonly gate: Gate,
    private readonly recovery: Recovery,
    private readonly reader: StreamReader,
    private readonly wording: Wording,
  ) {}

  /** @returns the id that the new call will have, and what orders it. @throws Refusal `engine.arguments-gone` */
  async prepare(row: ExecutionRow): Promise<{ callId: string; order: (tx: Transaction<Database>) => Promise<void> }> {
    const { input, why } = await this.#input(row);
    if (input === undefined)
      throw new Refusal(
        'conflict',
        'engine.arguments-gone',
        `What was frozen cannot be taken over (${why}), so nothing was settled. Settle it without proposing it anew, and give the agent the task again.`,
      );
    const callId = newId();
    return { callId, order: (tx) => this.calls.writeAnew(tx, callId, row.call_id) };
  }

  async sweep(): Promise<void> {
    for (const open of await this.calls.followAnew(FOLLOWED_FOR_MS))
      void this.#follow(open).catch((error: unknown) => {
        const text = error instanceof Error ? error.message : String(error);
        this.#log.warn(`call ${open.call_id}, proposed anew, stands still: ${text}`);
      });
  }

  async #follow(open: OpenCall): Promise<void> {
    const { call_id: callId, space_id: spaceId, anew_of: anewOf } = open;
    const row = anewOf === null ? undefined : await this.executions.find(anewOf);
    if (!row) throw new Error('the call that it takes the place of is unknown');
    const settled = await this.reader.last('tool.executed', spaceId, row.call_id);
    if (!settled) return this.calls.unfollow(callId);
    return continuing(settled.event.traceparent, () => this.#propose(open, row, settled.event.id));
  }

  async #propose(open: OpenCall, row: ExecutionRow, causationId: string): Promise<void> {
    const { call_id: callId, space_id: spaceId, run_id: runId } = open;
    if (await this.reader.last('tool.proposed', spaceId, callId)) {
      const run = await this.runs.find(runId);
      if (run) await this.recovery.closeCalls(run, 'engine-lost');
      return;
    }
    const { input, why } = await this.#input(row);
    const { agent, model, source, principal, conversationId, taskId, tool } = claimOf(row).call;
    const provenance = { agent, model, source, principal, conversationId, ...(taskId === undefined ? {} : { taskId }) };
    const declared = this.agents.get(agent);
    const { told } =
      input === undefined
        ? { told: `It could not be proposed: ${why}.` }
        : await this.gate.pass(
            {
              runId,
              spaceId,
              provenance,
              tools: declared?.space === spaceId ? declared.tools : [],
              words: this.wording.of(agent),
              signal: new AbortController().signal,
              // no run is under way that could be taken over; the row of the call is what is claimed
              stillMine: async () => true,
              causationId,
            },
            {
              callId,
              providerCallId: open.provider_call_id,
              tool,
              input,
              step: open.step,
              index: open.position,
              providerExecuted: false,
            },
          );
    const place = { spaceId, conversationId, callId };
    await this.calls.answered(callId, (await this.content.seal(place, 'turn', told, new Uint8Array())).box);
  }

  async #input(row: ExecutionRow): Promise<{ input?: string; why?: string }> {
    const claim = claimOf(row);
    const proposed = await this.reader.last('tool.proposed', claim.spaceId, claim.callId);
    if (!proposed) return { why: 'frozen.proposal-gone' };
    const opened = await this.frozen.open(placeOf(claim), claim.call, proposed.event.data.frozen);
    return typeof opened === 'string' ? { why: opened } : { input: Buffer.from(opened.bytes).toString('utf8') };
  }
}
