import { newEvent, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { detached, errorType, isInfrastructureFault, markFailed, type Span } from '@holdpoint/runtime';
import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import type { AgentDeclaration } from '../config.js';
import type { AgentModel } from '../models/agent-model.js';
import { runSpan } from '../spans.js';
import { provenanceOf, type RunRow, type Runs } from '../store/runs.js';
import type { Database } from '../store/schema.js';
import type { Offer } from '../tools/offer.js';
import { type Player, RunLost } from './play.js';
import type { Recovery } from './recovery.js';

const POLL_MS = 500;
const HEARTBEAT_MS = 1_000;
const DRAIN_MS = 5_000;

/**
 * Takes queued runs, as many at once as it may, and keeps their heartbeats. Any number of engines do this over the same
 * tables: the claim and the index of running conversations decide who plays what.
 */
export class Runner implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #log = new Logger(Runner.name);
  readonly #active = new Map<string, { done: Promise<void>; control: AbortController }>();
  #timers: NodeJS.Timeout[] = [];
  #stopping = false;
  #filling = false;

  constructor(
    private readonly db: Kysely<Database>,
    private readonly engine: string,
    private readonly maxRunning: number,
    private readonly agents: Map<string, AgentDeclaration>,
    private readonly models: Map<string, AgentModel>,
    private readonly offer: Offer,
    private readonly runs: Runs,
    private readonly player: Player,
    private readonly recovery: Recovery,
    /** What else has to be looked after, by any engine. */
    private readonly sweeps: readonly { what: string; sweep(): Promise<void> }[],
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
  ) {}

  onApplicationBootstrap(): void {
    const every = (ms: number, what: string, work: () => Promise<unknown>) => {
      let busy = false;
      const tick = async () => {
        if (busy || this.#stopping) return;
        busy = true;
        await work().catch((error: unknown) => this.#report(what, error));
        busy = false;
      };
      this.#timers.push(setInterval(() => void tick(), ms));
    };
    every(POLL_MS, 'taking runs', () => this.#fill());
    for (const s of this.sweeps) every(POLL_MS, s.what, () => s.sweep());
    every(POLL_MS * 4, 'looking for lost runs', () => this.recovery.sweep());
  }

  /** Runs that cannot end in time are given up at once, so that the next engine need not wait for their lease. */
  async onModuleDestroy(): Promise<void> {
    this.#stopping = true;
    for (const t of this.#timers) clearInterval(t);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, DRAIN_MS);
    });
    await Promise.race([Promise.allSettled([...this.#active.values()].map((a) => a.done)), late]);
    clearTimeout(timer);
    const left = [...this.#active.keys()];
    if (left.length > 0)
      await this.db
        .updateTable('runs')
        .set({ heartbeat_at: sql`to_timestamp(0)` })
        .where('run_id', 'in', left)
        .where('engine', '=', this.engine)
        .where('state', '=', 'running')
        .execute()
        .catch((error: unknown) => this.#report('giving runs up', error));
  }

  /** Stops a run that is played here; nothing happens when it is not. Its row says already that it is to be cancelled. */
  abort(runId: string): void {
    this.#active.get(runId)?.control.abort();
  }

  poke(): void {
    void detached(() => this.#fill()).catch((error: unknown) => this.#report('taking runs', error));
  }

  async #fill(): Promise<void> {
    if (this.#filling) return;
    this.#filling = true;
    try {
      while (!this.#stopping && this.#active.size < this.maxRunning) {
        const run = await this.#claim();
        if (!run) return;
        const control = new AbortController();
        const done = runSpan(run, (span) => this.#play(run, control, span)).finally(() => {
          this.#active.delete(run.run_id);
          this.poke();
        });
        this.#active.set(run.run_id, { done, control });
      }
    } finally {
      this.#filling = false;
    }
  }

  async #claim(): Promise<RunRow | undefined> {
    const run = await this.db
      .transaction()
      .execute(async (tx) => {
        const taken = await this.runs.claim(tx, this.engine);
        if (!taken) return undefined;
        const claimed = await this.runs.playedBy(tx, taken, this.models.get(taken.agent)?.name ?? taken.model);
        const { space_id: spaceId, run_id: runId } = claimed;
        await this.outbox.add(
          tx,
          newEvent('run.started', {
            spaceId,
            entityId: runId,
            runId,
            traceparent: claimed.traceparent ?? undefined,
            data: {
              ...provenanceOf(claimed),
              ...(claimed.attempt === null ? {} : { attempt: claimed.attempt }),
              engine: this.engine,
            },
          }),
        );
        return claimed;
      })
      .catch((error: unknown) => {
        // another engine took a run of the same conversation in this very moment
        if ((error as { code?: string }).code === '23505') return undefined;
        throw error;
      });
    if (run) this.relay.poke();
    return run;
  }

  async #play(run: RunRow, control: AbortController, span: Span): Promise<void> {
    let lost = false;
    const beat = setInterval(() => {
      this.runs.heartbeat(run.run_id, this.engine).then(
        (mine) => {
          if (!mine) lost = true;
          if (!mine || mine.cancelRequested) control.abort();
        },
        (error: unknown) => this.#report('keeping a run', error),
      );
    }, HEARTBEAT_MS);
    try {
      const agent = this.agents.get(run.agent);
      const model = this.models.get(run.agent);
      if (agent?.space !== run.space_id || !model) {
        await this.player.complete(run, { state: 'failed', reason: 'agent-unknown', result: '' });
        return;
      }
      const end = await this.player.play(run, agent, model, () => this.offer.toolsOf(agent), control.signal);
      span.setAttribute('holdpoint.run.status', end.state);
      if (end.state === 'failed') markFailed(span, end.reason ?? end.state);
      if (!lost) await this.player.complete(run, end);
    } catch (error) {
      markFailed(span, errorType(error));
      if (lost || error instanceof RunLost) return;
      // nothing can be written now: the heartbeat stops, and recovery ends the run when the stores are back
      if (isInfrastructureFault(error)) return this.#report(`run ${run.run_id} stands still`, error);
      this.#report(`run ${run.run_id} failed`, error);
      await this.#fail(run, control.signal.aborted);
    } finally {
      clearInterval(beat);
    }
  }

  async #fail(run: RunRow, cancelled: boolean): Promise<void> {
    try {
      if (cancelled) await this.recovery.end(run, 'cancelled', 'cancelled');
      else await this.recovery.end(run, 'failed', 'engine-error');
    } catch (error) {
      this.#report(`run ${run.run_id} could not be ended`, error);
    }
  }

  #report(what: string, error: unknown): void {
    this.#log.warn(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
