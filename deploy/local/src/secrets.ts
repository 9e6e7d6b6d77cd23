import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServiceName } from '@holdpoint/contracts';
import { BUS_USERS, type BusUser, type DatabasePasswords, READER_NAMES, SERVICES } from '@holdpoint/provision';
import { z } from 'zod';
import { DEMO_LOGINS, type DemoLogin } from './demo-database.js';
import type { Home } from './home.js';
import { writePrivately } from './private-file.js';

const named = z.record(z.string(), z.string().min(16));
const stored = z.object({
  superuser: z.string().min(16),
  database: named,
  demo: named.optional(),
  bus: named,
  services: named,
  people: named,
  consumers: named.optional(),
});

export interface Secrets {
  /** PostgreSQL's superuser. */
  superuser: string;
  database: DatabasePasswords;
  /** Of the demonstration's database. */
  demo: Record<DemoLogin, string>;
  bus: Record<BusUser, string>;
  /** Bearer tokens. */
  services: Record<ServiceName, string>;
  people: Record<string, string>;
  /** Passwords on the bus, by the operator's name for the consumer. */
  consumers: Record<string, string>;
}

const secret = (): string => randomBytes(24).toString('base64url');

/** Makes each secret once; what is there stays, what a newer version needs besides is added. */
export async function loadSecrets(
  home: Home,
  people: readonly string[],
  consumers: readonly string[],
): Promise<Secrets> {
  const text = await readFile(home.secrets, 'utf8').catch(ifMissing);
  const old: Partial<z.infer<typeof stored>> = text === undefined ? {} : stored.parse(JSON.parse(text));
  const each = (names: readonly string[], known: Record<string, string> = {}) =>
    Object.fromEntries(names.map((name) => [name, known[name] ?? secret()]));
  const secrets = {
    superuser: old.superuser ?? secret(),
    database: each([...SERVICES, ...READER_NAMES, 'owner'], old.database),
    demo: each(DEMO_LOGINS, old.demo),
    bus: each(BUS_USERS, old.bus),
    services: each(SERVICES, old.services),
    people: each(people, old.people),
    consumers: { ...old.consumers, ...each(consumers, old.consumers) },
  } as Secrets;
  await writePrivately(home.secrets, `${JSON.stringify(secrets, null, 2)}\n`);
  if ((await readFile(home.masterKey).catch(ifMissing)) === undefined)
    await writePrivately(home.masterKey, `${randomBytes(32).toString('base64')}\n`);
  return secrets;
}

const ifMissing = (err: NodeJS.ErrnoException): undefined => {
  if (err.code !== 'ENOENT') throw err;
};
