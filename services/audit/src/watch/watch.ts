import { setTimeout as delay } from 'node:timers/promises';
import { printable, StreamCheck, type Violation } from '@holdpoint/contracts';
import { isInfrastructureFault, registerGauge, type Sample } from '@holdpoint/runtime';
import { Inject, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { type AuditConfig, CONFIG } from '../config.js';
import { EventLog, type LoggedMessage } from '../store/event-log.js';

const BATCH = 500;
/** What is remembered: beyond it the check begins anew in the middle, and says nothing of entities that began before. */
const WINDOW = 200_000;

/**
 * Holds the log against the grammar of calls, runs and tasks as it grows (`holdpoint check`, at a low rate and for ever), and
 * makes metrics of what it finds: what the charter does not allow, and what should have gone on and has not.
 */
export class Watch implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #log = new Logger(Watch.name);
  readonly #stop = new AbortController();
  readonly #unregister: (() => void)[] = [];
  #running: Promise<void> | undefined;
  #check = new StreamCheck();
  #read = 0;
  /** Where to read on; and how far anything was read, as a check that begins anew reads some of it again. */
  #lastSeq = 0;
  #watched = 0;
  #told = 0;
  readonly #found = new Map<string, number>();
  #overdue: { violation: Violation; since: Date }[] = [];

  constructor(
    private readonly events: EventLog,
    @Inject(CONFIG) private readonly config: AuditConfig,
  ) {}

  onApplicationBootstrap(): void {
    const gauge = (name: string, help: string, labels: string[], read: () => Sample[]) =>
      this.#unregister.push(registerGauge(name, help, labels, async () => read()));
    gauge('holdpoint_chain_watched_seq', 'The event up to which the log was held against its grammar', [], () => [
      { value: this.#watched },
    ]);
    gauge('holdpoint_chain_violations', 'Events that the grammar does not allow, since the start', ['code'], () =>
      [...this.#found].map(([code, value]) => ({ labels: { code }, value })),
    );
    gauge('holdpoint_chain_overdue', 'What should have gone on by now and needs no person', ['code'], () =>
      [...Map.groupBy(this.#overdue, (o) => o.violation.code)].map(([code, all]) => ({
        labels: { code },
        value: all.length,
      })),
    );
    this.#running = this.#run();
  }

  async onModuleDestroy(): Promise<void> {
    for (const unregister of this.#unregister) unregister();
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      let more = false;
      try {
        const rows = await this.events.next(this.#lastSeq, BATCH);
        this.#take(rows);
        more = rows.length === BATCH;
        if (!more) await this.#look();
      } catch (err) {
        if (!isInfrastructureFault(err)) this.#log.error('the log cannot be watched and is tried again', err);
      }
      const pause = more ? this.config.AUDIT_WATCH_MS / 50 : this.config.AUDIT_WATCH_MS;
      await delay(pause, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  #take(rows: LoggedMessage[]): void {
    for (const { seq, subject, bytes } of rows) {
      this.#check.add({ seq, subject, bytes });
      this.#lastSeq = seq;
    }
    const { violations } = this.#check;
    for (const { code, seq, entity, message } of violations.slice(this.#told)) {
      if (seq <= this.#watched) continue;
      this.#found.set(code, (this.#found.get(code) ?? 0) + 1);
      this.#log.warn(`${code} at ${seq}, ${printable(entity)}: ${printable(message)}`);
    }
    this.#told = violations.length;
    this.#watched = Math.max(this.#watched, this.#lastSeq);
    this.#read += rows.length;
    if (this.#read < WINDOW) return;
    this.#check = new StreamCheck();
    this.#lastSeq -= WINDOW / 2;
    this.#read = this.#told = 0;
  }

  /** What would be a violation if nothing happened any more, and has stood still for too long. */
  async #look(): Promise<void> {
    const { violations, open } = this.#check.finish({ settled: true });
    const lastEvent = new Map(open.map((o) => [o.entity, o.seq]));
    const waiting = violations
      .slice(this.#told)
      .map((violation) => ({ violation, seq: lastEvent.get(violation.entity) ?? violation.seq }));
    const messages = await this.events.at([...new Set(waiting.map((w) => w.seq))]);
    const latest = Date.now() - this.config.AUDIT_WATCH_OVERDUE_MS;
    const known = new Set(this.#overdue.map((o) => o.violation.entity));
    this.#overdue = waiting.flatMap(({ violation, seq }) => {
      const since = messages.get(seq)?.storedAt;
      return since !== undefined && since.getTime() < latest ? [{ violation, since }] : [];
    });
    for (const { violation, since } of this.#overdue)
      if (!known.has(violation.entity))
        this.#log.warn(
          `${violation.code}, ${printable(violation.entity)}: ${printable(violation.message)} since ${since.toISOString()}`,
        );
  }
}
