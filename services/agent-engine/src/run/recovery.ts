import type { CallRef } from '@holdpoint/contracts';
import {
  AlreadyDecided,
  EventPublisher,
  newEvent,
  newId,
  Outbox,
  OutboxRelay,
  StreamReader,
} from '@holdpoint/eventing';
import { continuing, isInfrastructureFault } from '@holdpoint/runtime';
import { Logger } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { Wording } from '../agents.js';
import type { CallContent, CallPlace } from '../gate/content.js';
import type { Effects } from '../gate/effects.js';
import type { Gate } from '../gate/gate.js';
import type { Calls } from '../store/calls.js';
import type { Executions } from '../store/executions.js';
import type { RunRow, Runs } from '../store/runs.js';
import type { Database } from '../store/schema.js';
import type { Turns } from '../store/turns.js';
import { completedEvent } from './receipt.js';

type OpenCall = Awaited<ReturnType<Calls['ofRun']>>[number];

/**
 * Ends the runs of engines that fell silent. Each call without an answer is closed as the stream says it must be and gets
 * a synthetic result, so that a retry of the run never repeats a write blindly. Safe to run on several engines at once.
 */
export class Recovery {
  readonly #log = new Logger(Recovery.name);

  constructor(
    private readonly db: Kysely<Database>,
    private readonly runs: Runs,
    private readonly turns: Turns,
    private readonly calls: Calls,
    private readonly executions: Executions,
    private readonly content: CallContent,
    private readonly gate: Gate,
    private readonly effects: Effects,
    private readonly reader: StreamReader,
    private readonly publisher: EventPublisher,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    private readonly lostAfterMs: number,
    private readonly wording: Wording,
  ) {}

  async sweep(): Promise<void> {
    for (const run of await this.runs.lost(this.lostAfterMs))
      await continuing(run.traceparent, () => this.end(run, 'interrupted', 'engine-lost')).catch((error: unknown) => {
        // what hinders one run must not hold up the others
        if (isInfrastructureFault(error)) throw error;
        this.#log.error(`run ${run.run_id} cannot be ended: ${error instanceof Error ? error.message : String(error)}`);
      });
  }

  /** Ends a run in the middle of whatever it was doing: its calls closed, its last round answered, its receipt written. */
  async end(run: RunRow, state: 'interrupted' | 'failed' | 'cancelled', reason: string): Promise<void> {
    await this.closeCalls(run, state === 'cancelled' ? 'cancelled' : 'engine-lost');
    const place = { spaceId: run.space_id, conversationId: run.conversation_id, runId: run.run_id };
    const results = await this.#missingResults(run);
    const missing = results && (await this.turns.seal(place, results));
    await this.db.transaction().execute(async (tx) => {
      const from = { state: 'running' as const, engine: run.engine ?? '' };
      const ended = await this.runs.complete(tx, run.run_id, from, { state, reason });
      if (!ended) return;
      if (missing) await this.turns.append(tx, place, missing);
      await this.outbox.add(tx, completedEvent(ended));
    });
    this.relay.poke();
  }

  /** Brings each unanswered call of the run to an end that the charter's table allows. */
  async closeCalls(run: RunRow, reason: 'engine-lost' | 'cancelled'): Promise<void> {
    for (const open of await this.calls.ofRun(run.run_id)) {
      if (open.answer !== null) continue;
      const place = { spaceId: run.space_id, conversationId: run.conversation_id, callId: open.call_id };
      const told = await this.#close(run, open, place, reason);
      await this.calls.answered(open.call_id, (await this.content.seal(place, 'turn', told, new Uint8Array())).box);
    }
  }

  async #close(run: RunRow, open: OpenCall, place: CallPlace, reason: 'engine-lost' | 'cancelled'): Promise<string> {
    const { spaceId, callId } = place;
    const words = this.wording.of(run.agent);
    const cancelled = reason === 'cancelled';
    const executed = await this.reader.last('tool.executed', spaceId, callId);
    if (executed) return (await this.content.open(place, 'result', executed.event.data.result)) ?? words.interrupted();
    const call = open.ref;
    const neverBegun = cancelled ? words.cancelled() : words.interrupted();
    if (call === null || !(await this.reader.last('tool.proposed', spaceId, callId))) return neverBegun;

    let verdict = await this.reader.last('policy.decided', spaceId, callId);
    if (!verdict) {
      const abandoned = await this.gate.abandon({ runId: run.run_id }, place, call, reason);
      verdict = await this.reader.last('policy.decided', spaceId, callId);
      if (!verdict || verdict.seq > abandoned) return neverBegun;
    }
    const { verdict: decided, reason: why, rule, policyVersion } = verdict.event.data;
    if (decided === 'approve') return words.submitted(spaceId, callId, null);
    if (decided === 'deny') {
      const told = words.denied(why, rule, policyVersion);
      await this.#executed(run, place, { call, status: 'Denied', reason: why, told, cancelled });
      return told;
    }
    if (open.hint === 'read') {
      await this.#executed(run, place, { call, status: 'Error', reason, told: neverBegun, cancelled });
      return neverBegun;
    }
    if (!(await this.executions.find(callId))) {
      const claim = { callId, spaceId, runId: run.run_id, call, held: false, attempt: 1, fence: newId() };
      if (await this.effects.forgo(claim, 'abandoned', reason, neverBegun, cancelled)) return neverBegun;
    }
    return words.interrupted();
  }

  async #executed(
    run: RunRow,
    place: CallPlace,
    e: { call: CallRef; status: 'Denied' | 'Error'; reason: string; told: string; cancelled: boolean },
  ): Promise<void> {
    const { box } = await this.content.seal(place, 'result', e.told, new Uint8Array());
    const { call, status, reason, cancelled } = e;
    const event = newEvent('tool.executed', {
      spaceId: place.spaceId,
      entityId: place.callId,
      callId: place.callId,
      runId: run.run_id,
      data: { call, status, held: false, reason, result: box, cancelled, durationMs: 0 },
    });
    await this.publisher.publish(event).catch((error: unknown) => {
      if (!(error instanceof AlreadyDecided)) throw error;
    });
  }

  /** The results of the last round, if the run ended before they were said. */
  async #missingResults(run: RunRow) {
    const said = await this.turns.list(run.space_id, run.conversation_id);
    const last = said.at(-1)?.turn;
    if (last?.role !== 'assistant' || last.calls.length === 0) return undefined;
    const answers = new Map((await this.calls.ofRun(run.run_id)).map((c) => [c.call_id, c.answer]));
    const results = await Promise.all(
      last.calls.map(async (c) => {
        const place = { spaceId: run.space_id, conversationId: run.conversation_id, callId: c.callId };
        const text = await this.content.open(place, 'turn', answers.get(c.callId) ?? null);
        return {
          providerCallId: c.providerCallId,
          tool: c.tool,
          text: text ?? this.wording.of(run.agent).interrupted(),
        };
      }),
    );
    return { role: 'tool' as const, results };
  }
}
