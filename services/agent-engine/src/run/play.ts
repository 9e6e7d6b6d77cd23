import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { Sealed, Usage } from '@holdpoint/contracts';
import { newId, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { Keyring } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import type { AgentDeclaration } from '../config.js';
import type { Turn } from '../domain/conversation.js';
import { words } from '../domain/words.js';
import type { CallContent } from '../gate/content.js';
import type { Gate } from '../gate/gate.js';
import type { AgentModel } from '../models/agent-model.js';
import { ModelFailure } from '../models/failure.js';
import type { Calls } from '../store/calls.js';
import { type Final, provenanceOf, type RunRow, type Runs } from '../store/runs.js';
import type { Database } from '../store/schema.js';
import type { Turns } from '../store/turns.js';
import { completedEvent } from './receipt.js';
import { promptOf, type Round } from './round.js';

/** The run was taken over while this engine was not looking. Nothing more may be written for it here. */
export class RunLost extends Error {}

/** The loop: the model's round, its calls through the gate, their results, until the model has nothing more to call. */
export class Player {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly runs: Runs,
    private readonly turns: Turns,
    private readonly calls: Calls,
    private readonly content: CallContent,
    private readonly keyring: Keyring,
    private readonly gate: Gate,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    private readonly engine: string,
  ) {}

  /** @returns how the run ended; `result` is the model's last text. @throws RunLost, infrastructure faults. */
  async play(
    run: RunRow,
    agent: AgentDeclaration,
    model: AgentModel,
    tools: LanguageModelV4FunctionTool[],
    signal: AbortSignal,
  ): Promise<{ state: Final; reason?: string; result: string }> {
    const place = { spaceId: run.space_id, conversationId: run.conversation_id, runId: run.run_id };
    const said = (await this.turns.list(place.spaceId, place.conversationId)).map((t) => t.turn);
    const asked: Turn = { role: 'user', text: await this.#prompt(run) };
    const sealedAsked = await this.turns.seal(place, asked);
    await this.#whileMine(run, (tx) => this.turns.append(tx, place, sealedAsked));
    said.push(asked);
    const usage: Usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
    const bill = model.bill();
    const gateRun = {
      ...place,
      provenance: provenanceOf(run),
      tools: agent.tools,
      signal,
      stillMine: (tx: Transaction<Database>) => this.runs.stillMine(tx, run.run_id, this.engine),
    };

    for (let step = 1; step <= agent.maxSteps; step++) {
      if (signal.aborted) return { state: 'cancelled', reason: 'cancelled', result: '' };
      if (!bill.free) await this.runs.bill(run.run_id, this.engine, bill.pending);
      let round: Round;
      try {
        round = await model.ask(promptOf(agent.system, said), tools, signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof ModelFailure)) throw error;
        if (error.circumstances.mayHaveCost) bill.incomplete();
        await this.runs.bill(run.run_id, this.engine, bill.cost);
        return { state: 'failed', reason: error.reason, result: words.modelFailed(error.reason, error.detail) };
      }
      bill.add(round.usage);
      usage.promptTokens += round.usage.promptTokens;
      usage.completionTokens += round.usage.completionTokens;
      usage.cachedTokens += round.usage.cachedTokens;

      const written = round.calls.map((c) => ({ ...c, callId: newId() }));
      const turn: Turn = {
        role: 'assistant',
        text: round.text,
        calls: written.map(({ callId, providerCallId, tool, input }) => ({ callId, providerCallId, tool, input })),
      };
      const sealed = await this.turns.seal(place, turn);
      await this.#whileMine(run, async (tx) => {
        await this.turns.append(tx, place, sealed);
        await this.calls.write(tx, place, step, turn.calls);
        await this.runs.progress(tx, run.run_id, step, usage, bill.cost);
      });
      said.push(turn);
      if (written.length === 0) return { state: 'ok', result: round.text };

      const results: Extract<Turn, { role: 'tool' }>['results'] = [];
      for (const [index, call] of written.entries()) {
        const text = signal.aborted ? words.cancelled() : await this.gate.pass(gateRun, { ...call, step, index });
        const at = { spaceId: run.space_id, conversationId: run.conversation_id, callId: call.callId };
        await this.calls.answered(call.callId, (await this.content.seal(at, 'turn', text, new Uint8Array())).box);
        results.push({ providerCallId: call.providerCallId, tool: call.tool, text });
      }
      const answer: Turn = { role: 'tool', results };
      const sealedAnswer = await this.turns.seal(place, answer);
      await this.#whileMine(run, (tx) => this.turns.append(tx, place, sealedAnswer));
      said.push(answer);
    }
    return { state: 'failed', reason: 'step-limit', result: words.stepLimit(agent.maxSteps) };
  }

  async complete(run: RunRow, end: { state: Final; reason?: string; result: string }): Promise<void> {
    const { run_id: runId, space_id: spaceId, conversation_id: conversationId } = run;
    const place = { spaceId, conversationId, callId: runId };
    const result =
      end.result === '' ? null : (await this.content.seal(place, 'result', end.result, new Uint8Array())).box;
    await this.db.transaction().execute(async (tx) => {
      const from = { state: 'running' as const, engine: this.engine };
      const ended = await this.runs.complete(tx, runId, from, { state: end.state, reason: end.reason, result });
      if (ended) await this.outbox.add(tx, completedEvent(ended));
    });
    this.relay.poke();
  }

  async #prompt(run: RunRow): Promise<string> {
    const place = { spaceId: run.space_id, entityId: run.run_id, field: 'prompt' as const };
    return Buffer.from(await this.keyring.open(JSON.parse(run.prompt) as Sealed, place)).toString('utf8');
  }

  async #whileMine(run: RunRow, write: (tx: Transaction<Database>) => Promise<void>): Promise<void> {
    await this.db.transaction().execute(async (tx) => {
      if (!(await this.runs.stillMine(tx, run.run_id, this.engine))) throw new RunLost(run.run_id);
      await write(tx);
    });
  }
}
