import { setTimeout as delay } from 'node:timers/promises';
import type { RunProgress } from '@holdpoint/contracts';
import { StreamReader } from '@holdpoint/eventing';
import { isInfrastructureFault, Keyring } from '@holdpoint/runtime';
import type { OnModuleDestroy } from '@nestjs/common';
import { runView } from '../http/view.js';
import type { Calls } from '../store/calls.js';
import type { RunRow, Runs } from '../store/runs.js';
import type { Turns } from '../store/turns.js';

const LOOK_EVERY_MS = 250;
/** An effect's event may be stored a little after the run's row says that it is over. */
const LOOKS_AFTER_THE_END = 40;

export type Told = RunProgress & { id: string };
type OpenCall = Awaited<ReturnType<Calls['ofRun']>>[number];

/**
 * Tells what happens in a run by looking at its rows and, for what became of a call, into the stream. So it tells the same
 * whichever engine plays the run, and nothing that is not stored. The price: a text is told when its round is complete, and
 * everything up to a quarter of a second late.
 */
export class Progress implements OnModuleDestroy {
  readonly #stopping = new AbortController();

  constructor(
    private readonly runs: Runs,
    private readonly turns: Turns,
    private readonly calls: Calls,
    private readonly reader: StreamReader,
    private readonly keyring: Keyring,
  ) {}

  onModuleDestroy(): void {
    this.#stopping.abort();
  }

  /**
   * From the beginning to `run.completed`; null each time there was nothing new. Ends early when `signal` says so or the
   * service stops; the run goes on, and can be followed again.
   */
  async *follow(runId: string, signal: AbortSignal): AsyncGenerator<Told | null> {
    const stop = AbortSignal.any([signal, this.#stopping.signal]);
    const told = new Set<string>();
    for (let looksAfterEnd = 0; !stop.aborted; ) {
      // the row first: what is over by then has nothing more to come
      const run = await this.runs.find(runId);
      if (!run) return;
      const over = run.completed_at !== null;
      let open = false;
      let news = false;
      for await (const event of this.#look(run, told)) {
        if (event === 'open') {
          open = true;
          continue;
        }
        told.add(event.id);
        news = true;
        yield event;
      }
      if (over && (!open || ++looksAfterEnd > LOOKS_AFTER_THE_END)) {
        yield { id: 'completed', type: 'run.completed', run: await runView(run, this.keyring) };
        return;
      }
      if (!news) yield null;
      await delay(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  }

  /** What is not told yet; `open` for a call that was answered, and of which the stream does not say yet how it ended. */
  async *#look(run: RunRow, told: ReadonlySet<string>): AsyncGenerator<Told | 'open'> {
    if (!told.has('queued')) yield { id: 'queued', type: 'run.queued', run: await runView(run, this.keyring) };
    if (run.started_at === null) return;
    if (!told.has('started')) yield { id: 'started', type: 'run.started', run: await runView(run, this.keyring) };

    const { run_id: runId, space_id: spaceId, conversation_id: conversationId } = run;
    const calls = await this.calls.ofRun(runId);
    const texts = (await this.turns.list(spaceId, conversationId, { runId })).flatMap(({ turn }) =>
      turn.role === 'assistant' ? [turn.text] : [],
    );
    for (const [i, text] of texts.entries()) {
      const step = i + 1;
      if (!told.has(`step-${step}`)) yield { id: `step-${step}`, type: 'step', step, text };
      for (const call of calls.filter((c) => c.step === step)) {
        const proposed = `proposed-${call.call_id}`;
        const ended = `ended-${call.call_id}`;
        const of = { callId: call.call_id, step, tool: call.ref?.tool ?? 'unknown', action: call.ref?.action ?? null };
        if (call.ref !== null && !told.has(proposed)) yield { id: proposed, type: 'call.proposed', ...of };
        if (call.answer === null || told.has(ended)) continue;
        const end = await this.#end(run, call, of).catch((error: unknown) => {
          if (isInfrastructureFault(error)) return 'open' as const;
          throw error;
        });
        yield end === 'open' ? end : { id: ended, ...end };
      }
    }
  }

  async #end(run: RunRow, call: OpenCall, of: CallNamed): Promise<RunProgress | 'open'> {
    const last = <T extends Parameters<StreamReader['last']>[0]>(type: T) =>
      this.reader.last(type, run.space_id, call.call_id);
    const [verdict, abandoned, executed] = await Promise.all([
      last('policy.decided'),
      last('tool.abandoned'),
      last('tool.executed'),
    ]);
    if (abandoned && !(verdict && verdict.seq < abandoned.seq))
      return { type: 'call.denied', ...of, reason: abandoned.event.data.reason };
    // held calls are carried out later and elsewhere: for this run they end held
    if (verdict?.event.data.verdict === 'approve')
      return { type: 'call.held', ...of, number: (await last('call.staged'))?.event.data.number ?? null };
    if (executed) {
      const { status, reason, call: ref } = executed.event.data;
      const named = { ...of, tool: ref.tool, action: ref.action };
      return status === 'Denied'
        ? { type: 'call.denied', ...named, reason: reason ?? 'denied' }
        : { type: 'call.executed', ...named, status };
    }
    if (await last('tool.in-doubt')) return { type: 'call.in-doubt', ...of };
    if (await last('tool.proposed')) return 'open';
    return { type: 'call.denied', ...of, reason: run.cancel_requested ? 'cancelled' : 'engine-lost' };
  }
}

type CallNamed = { callId: string; step: number; tool: string; action: string | null };
