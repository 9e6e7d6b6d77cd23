import { type DynamicModule, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { DATABASE } from './database.js';

/** One value under its labels. */
export interface Sample {
  labels?: Record<string, string>;
  value: number;
}

const LIMIT_MS = 2_000;
const registry = new Registry();
const log = new Logger('Metrics');
const readers = new Map<string, Set<() => Promise<Sample[]>>>();

/**
 * A number that is looked up whenever somebody asks for the metrics, for at most 2 s. What cannot be read is left out: an
 * absent number is the truth, an old one is not. The registry is the process's, as one process is one service; readers that
 * share a name add up. Returns a function that takes it out again.
 */
export function registerGauge(name: string, help: string, labels: string[], read: () => Promise<Sample[]>): () => void {
  const known = readers.get(name) ?? new Set();
  if (!readers.has(name)) {
    readers.set(name, known);
    new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      async collect() {
        this.reset();
        const read = await Promise.allSettled([...known].map((each) => inTime(each())));
        for (const found of read)
          if (found.status === 'fulfilled') for (const s of found.value) this.inc(s.labels ?? {}, s.value);
          else log.warn(`${name} cannot be read: ${(found.reason as Error).name}`);
      },
    });
  }
  known.add(read);
  return () => {
    known.delete(read);
  };
}

/** A number that only grows, from the start of the process. */
export function counter<L extends string>(name: string, help: string, labels: L[]): Counter<L> {
  const known = registry.getSingleMetric(name) as Counter<L> | undefined;
  return known ?? new Counter({ name, help, labelNames: labels, registers: [registry] });
}

/** How long something took, in seconds, from the start of the process. */
export function histogram<L extends string>(name: string, help: string, labels: L[], buckets: number[]): Histogram<L> {
  const known = registry.getSingleMetric(name) as Histogram<L> | undefined;
  return known ?? new Histogram({ name, help, labelNames: labels, buckets, registers: [registry] });
}

/** All of it in Prometheus' text format. */
export const metricsText = (): Promise<string> => registry.metrics();
export const METRICS_CONTENT_TYPE = registry.contentType;

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('too slow')), LIMIT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A number from the service's own tables: the query gives `value` and a column for each label. */
export interface TableGauge {
  name: string;
  help: string;
  labels?: string[];
  query: string;
}

const GAUGES: unique symbol = Symbol('holdpoint.gauges');

@Module({})
export class TableGauges implements OnApplicationShutdown {
  readonly #unregister: (() => void)[];

  constructor(@Inject(DATABASE) db: Kysely<unknown>, @Inject(GAUGES) gauges: TableGauge[]) {
    this.#unregister = gauges.map(({ name, help, labels = [], query }) =>
      registerGauge(name, help, labels, async () => {
        const { rows } = await sql.raw<Record<string, unknown>>(query).execute(db);
        return rows.map((row) => ({
          value: Number(row['value'] ?? 0),
          labels: Object.fromEntries(labels.map((label) => [label, String(row[label])])),
        }));
      }),
    );
  }

  static of(...gauges: TableGauge[]): DynamicModule {
    return { module: TableGauges, providers: [{ provide: GAUGES, useValue: gauges }] };
  }

  onApplicationShutdown(): void {
    for (const unregister of this.#unregister) unregister();
  }
}
