import type { ServiceName } from '@holdpoint/contracts';
import { parseSecrets } from '../installation-secrets.js';
import { provisionConfig, readEnvironment } from '../settings.js';
import { placeAfterRebuild } from './consumers.js';
import { type Recovery, rebuild } from './rebuild.js';
import { reconcile } from './reconcile.js';
import { refill } from './refill.js';

export const USAGE = `usage: rebuild <service|all> [--look]   make a service's tables of the events; --look only compares
       refill                        give a lost or older stream back what the log has
       reconcile                     name whatever differs between stream, log and rows`;

const recoveryConfig = provisionConfig
  .pick({ DATABASE_URL: true, NATS_URL: true, HOLDPOINT_SECRETS_FILE: true })
  .extend({
    NATS_URL: provisionConfig.shape.NATS_URL.optional().describe('a nats:// URL, or nothing when there is no bus'),
  });

/** What the program is told by its environment: as the provisioner, but for a bus that may be gone. @throws SettingsError */
export function recoverySettings(env: NodeJS.ProcessEnv, read: (path: string) => string) {
  const c = readEnvironment(recoveryConfig, env);
  return {
    databaseUrl: c.DATABASE_URL,
    database: decodeURIComponent(new URL(c.DATABASE_URL).pathname.slice(1)),
    natsUrl: c.NATS_URL,
    secrets: parseSecrets(read(c.HOLDPOINT_SECRETS_FILE), []),
  };
}

/** @returns how many differences are left; null when it was typed wrongly */
export async function recover(
  args: readonly string[],
  all: readonly ServiceName[],
  to: Recovery,
): Promise<number | null> {
  const [command, ...rest] = args;
  if (command === 'reconcile' && rest.length === 0) return reconcile(to);
  if (command === 'refill' && rest.length === 0) {
    await refill(to);
    return 0;
  }
  const look = rest.includes('--look');
  const [named, ...more] = rest.filter((a) => a !== '--look');
  const services = named === 'all' ? all : all.filter((s) => s === named);
  if (command !== 'rebuild' || services.length === 0 || more.length > 0) return null;
  let left = 0;
  for (const service of services) {
    const rebuilt = await rebuild(to, service, look);
    if (look) left += rebuilt.total;
    else await placeAfterRebuild(to, rebuilt);
  }
  return left;
}
