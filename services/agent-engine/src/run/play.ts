import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { Sealed } from '@holdpoint/contracts';
import { newId, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { Keyring } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import type { Wording } from '../agents.js';
import type { AgentDeclaration } from '../config.js';
import type { Turn } from '../domain/conversation.js';
import { type Memory, sizeOf } from '../domain/memory.js';
import { Refusals } from '../domain/refusals.js';
import { Spending } from '../domain/spending.js';
import type { CallContent } from '../gate/content.js';
import type { Gate, Passed } from '../gate/gate.js';
import type { GateRun } from '../gate/run-context.js';
import type { AgentModel } from '../models/agent-model.js';
import type { Bill } from '../models/bill.js';
import { ModelFailure } from '../models/failure.js';
import type { Secrets } from '../secrets/secrets.js';
import type { Calls } from '../store/calls.js';
import { type Final, provenanceOf, type RunRow, type Runs } from '../store/runs.js';
import type { Database } from '../store/schema.js';
import type { Turns } from '../store/turns.js';
import type { Ask, Compacted, Compaction } from './compaction.js';
import { inLanes } from './in-lanes.js';
import { completedEvent } from './receipt.js';
import { Reminders } from './reminders.js';
import { promptOf } from './round.js';
import { scrubbedRound } from './scrubbed-round.js';

/** The run was taken over while this engine was not looking. Nothing more may be written for it here. */
export class RunLost extends Error {}

type Result = Extract<Turn, { role: 'tool' }>['results'][number];
/** What the model can call in the round that begins: it may be less or more than in the one before. */
type Offered = () => Promise<LanguageModelV4FunctionTool[]>;
type End = { state: Final; reason?: string; result: string };

interface State {
  memory: Memory;
  spending: Spending;
  reminders: Reminders;
  bill: Bill;
}

const PARALLEL_READS = 10;
/** A call that was refused so often in a row is answered without being proposed again. */
const REFUSALS_BEFORE_SILENCE = 2;
const NEARLY = 0.8;

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
    private readonly wording: Wording,
    private readonly compaction: Compaction,
    private readonly secrets: Secrets,
  ) {}

  /** @returns how the run ended; `result` is the model's last text. @throws RunLost, infrastructure faults. */
  async play(
    run: RunRow,
    agent: AgentDeclaration,
    model: AgentModel,
    offered: Offered,
    signal: AbortSignal,
  ): Promise<End> {
    const bill = model.bill();
    const ask: Ask = async (prompt, given) => {
      if (!bill.free) await this.runs.bill(run.run_id, this.engine, bill.pending);
      const round = await model.ask(prompt, given, signal);
      bill.add(round.usage);
      return scrubbedRound(round, this.secrets);
    };
    try {
      return await this.#rounds(run, agent, ask, bill, offered, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof ModelFailure)) throw error;
      if (error.circumstances.mayHaveCost) bill.incomplete();
      await this.runs.bill(run.run_id, this.engine, bill.cost);
      const result = this.wording.of(agent.name).modelFailed(error.reason, this.secrets.scrub(error.detail));
      return { state: 'failed', reason: error.reason, result };
    }
  }

  async #rounds(
    run: RunRow,
    agent: AgentDeclaration,
    ask: Ask,
    bill: Bill,
    offered: Offered,
    signal: AbortSignal,
  ): Promise<End> {
    const place = { spaceId: run.space_id, conversationId: run.conversation_id, runId: run.run_id };
    const words = this.wording.of(agent.name);
    const memory = await this.compaction.recall(place);
    const spending = new Spending(agent.maxTokens);
    const reminders = new Reminders(words);
    const refusals = new Refusals();
    await this.#say(run, memory, { role: 'user', text: await this.#prompt(run) });
    const gateRun: GateRun = {
      ...place,
      provenance: provenanceOf(run),
      tools: agent.tools,
      words,
      signal,
      stillMine: (tx) => this.runs.stillMine(tx, run.run_id, this.engine),
    };

    for (let step = 1; step <= agent.maxSteps; step++) {
      if (signal.aborted) return { state: 'cancelled', reason: 'cancelled', result: '' };
      const compacted = await this.compaction.summarise(memory, agent, ask, words);
      if (compacted) await this.#compact(run, step - 1, { memory, spending, reminders, bill }, compacted);
      if (step > 1 && step === agent.maxSteps) reminders.add(words.stepsNearlyUsed(agent.maxSteps));
      if (agent.maxTokens !== undefined && spending.tokens >= NEARLY * agent.maxTokens)
        reminders.add(words.tokensNearlyUsed(spending.tokens, agent.maxTokens));
      const size = memory.size(agent.system);
      const prompt = [...promptOf(agent.system, memory.prompt(words.summary)), ...reminders.take()];
      const round = await ask(prompt, await offered());

      const written = round.calls.map((c) => ({ ...c, callId: newId() }));
      const calls = written.map(({ callId, providerCallId, tool, input }) => ({ callId, providerCallId, tool, input }));
      const turn: Turn = { role: 'assistant', text: round.text, calls };
      spending.add(round.usage, size + sizeOf(turn));
      await this.#say(run, memory, turn, async (tx) => {
        await this.calls.write(tx, place, step, calls);
        await this.runs.progress(tx, run.run_id, step, spending.usage, bill.cost);
      });
      memory.counted(round.usage.promptTokens + round.usage.completionTokens);
      if (written.length === 0) return { state: 'ok', result: round.text };

      const pass = async (call: (typeof written)[number], index: number): Promise<Result> => {
        const { told, ...passed } = await this.#pass(gateRun, { ...call, step, index }, refusals);
        reminders.add(...passed.reminders);
        const at = { ...place, callId: call.callId };
        await this.calls.answered(call.callId, (await this.content.seal(at, 'turn', told, new Uint8Array())).box);
        return { providerCallId: call.providerCallId, tool: call.tool, text: told };
      };
      const lanes = written.every((c) => this.gate.reads(gateRun, c)) ? PARALLEL_READS : 1;
      await this.#say(run, memory, { role: 'tool', results: await inLanes(lanes, written, pass) });

      if (spending.over && !signal.aborted) {
        const result = words.tokenBudget(spending.tokens, agent.maxTokens ?? 0);
        return { state: 'failed', reason: 'token-budget', result };
      }
    }
    if (signal.aborted) return { state: 'cancelled', reason: 'cancelled', result: '' };
    return { state: 'failed', reason: 'step-limit', result: words.stepLimit(agent.maxSteps) };
  }

  /** Through the gate, unless the run was cancelled or the very call has been refused too often in a row. */
  async #pass(run: GateRun, call: Parameters<Gate['pass']>[1], refusals: Refusals): Promise<Passed> {
    if (run.signal.aborted) return { told: run.words.cancelled(), reminders: [], refused: true };
    const before = refusals.times(call);
    const silent = before >= REFUSALS_BEFORE_SILENCE;
    const passed = await (silent ? this.gate.repeated(run, call, before) : this.gate.pass(run, call));
    const times = refusals.note(call, passed.refused);
    if (times !== REFUSALS_BEFORE_SILENCE) return passed;
    // a tool that the agent does not have is named by the model alone
    const tool = run.tools.includes(call.tool) ? call.tool : '?';
    return { ...passed, reminders: [...passed.reminders, run.words.refusedAgain(tool, times)] };
  }

  async #compact(run: RunRow, step: number, { memory, spending, reminders, bill }: State, made: Compacted) {
    const { summary, usage } = made;
    const place = { spaceId: run.space_id, conversationId: run.conversation_id, runId: run.run_id };
    spending.add(usage, 0);
    const store = summary && (await this.compaction.sealed(place, summary));
    await this.#whileMine(run, async (tx) => {
      await store?.(tx);
      await this.runs.progress(tx, run.run_id, step, spending.usage, bill.cost);
    });
    if (!summary) return;
    memory.compact(summary);
    reminders.add(this.wording.of(run.agent).compacted(summary.covers));
  }

  async complete(run: RunRow, end: End): Promise<void> {
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

  /** Appends a turn, with what has to be written in the same transaction. */
  async #say(run: RunRow, memory: Memory, turn: Turn, also?: (tx: Transaction<Database>) => Promise<void>) {
    const place = { spaceId: run.space_id, conversationId: run.conversation_id, runId: run.run_id };
    const sealed = await this.turns.seal(place, turn);
    const position = await this.#whileMine(run, async (tx) => {
      await also?.(tx);
      return this.turns.append(tx, place, sealed);
    });
    memory.say({ position, turn });
  }

  async #whileMine<T>(run: RunRow, write: (tx: Transaction<Database>) => Promise<T>): Promise<T> {
    return this.db.transaction().execute(async (tx) => {
      if (!(await this.runs.stillMine(tx, run.run_id, this.engine))) throw new RunLost(run.run_id);
      return write(tx);
    });
  }
}
