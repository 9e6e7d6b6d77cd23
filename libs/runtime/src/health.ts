/** Resolves when the dependency answers; rejects when it does not. */
export type HealthCheck = () => Promise<void>;

interface Registered {
  name: string;
  check: HealthCheck;
}
const registry = new Set<Registered>();
const LIMIT_MS = 2_000;

/**
 * Adds a check to `/readyz`, under a name that may be shown to anybody. The registry is the process's, as one process is
 * one service; checks that share a name must all pass. Returns a function that takes it out again.
 */
export function registerHealth(name: string, check: HealthCheck): () => void {
  const registered = { name, check };
  registry.add(registered);
  return () => {
    registry.delete(registered);
  };
}

/** Runs every check at once, each for at most 2 s. Names of those that passed and of those that did not, sorted. */
export async function checkHealth(limitMs: number = LIMIT_MS): Promise<{ passing: string[]; failing: string[] }> {
  const all = [...registry];
  const results = await Promise.all(all.map(({ check }) => passes(check, limitMs)));
  const failing = new Set(all.filter((_, i) => !results[i]).map(({ name }) => name));
  const passing = new Set(all.map(({ name }) => name).filter((name) => !failing.has(name)));
  return { passing: [...passing].sort(), failing: [...failing].sort() };
}

async function passes(check: HealthCheck, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, limitMs, false);
  });
  try {
    return await Promise.race([check().then(() => true), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
