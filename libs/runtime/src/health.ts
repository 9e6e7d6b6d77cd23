import { Logger } from '@nestjs/common';

/** Resolves when the dependency answers; rejects when it does not. */
export type HealthCheck = () => Promise<void>;

interface Registered {
  name: string;
  check: HealthCheck;
  /** What the last round said; only a change is logged. */
  failing: boolean;
}
const log = new Logger('Health');
const registry = new Set<Registered>();
const LIMIT_MS = 2_000;

/**
 * Adds a check to `/readyz`, under a name that may be shown to anybody. The registry is the process's, as one process is
 * one service; checks that share a name must all pass. Returns a function that takes it out again.
 */
export function registerHealth(name: string, check: HealthCheck): () => void {
  const registered = { name, check, failing: false };
  registry.add(registered);
  return () => {
    registry.delete(registered);
  };
}

/** Runs every check at once, each for at most 2 s. Names of those that passed and of those that did not, sorted. */
export async function checkHealth(limitMs: number = LIMIT_MS): Promise<{ passing: string[]; failing: string[] }> {
  const all = [...registry];
  await Promise.all(all.map((registered) => judge(registered, limitMs)));
  const failing = new Set(all.filter((r) => r.failing).map((r) => r.name));
  const passing = new Set(all.map((r) => r.name).filter((name) => !failing.has(name)));
  return { passing: [...passing].sort(), failing: [...failing].sort() };
}

async function judge(registered: Registered, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs);
  });
  try {
    await Promise.race([registered.check(), late]);
    if (registered.failing) log.log(`${registered.name} is well again`);
    registered.failing = false;
  } catch (err) {
    if (!registered.failing) log.warn(`${registered.name} is not well`, err);
    registered.failing = true;
  } finally {
    clearTimeout(timer);
  }
}
