import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  completeSecrets,
  type InstallationSecrets,
  newSecret,
  newSigningKey,
  secretsFor,
  storedSecrets,
  writePrivately,
} from '@holdpoint/provision';
import { z } from 'zod';
import { DEMO_LOGINS, type DemoLogin } from './demo-database.js';
import type { Home } from './home.js';

const named = z.record(z.string(), z.string().min(16));
const stored = storedSecrets.extend({
  superuser: z.string().min(16),
  demo: named.optional(),
  people: named,
});

export interface Secrets extends InstallationSecrets {
  /** PostgreSQL's superuser. */
  superuser: string;
  /** Of the demonstration's database. */
  demo: Record<DemoLogin, string>;
  people: Record<string, string>;
}

/** Makes each secret once; what is there stays, what a newer version needs besides is added. */
export async function loadSecrets(
  home: Home,
  people: readonly string[],
  consumers: readonly string[],
): Promise<Secrets> {
  const text = await readFile(home.secrets, 'utf8').catch(ifMissing);
  const old: Partial<z.infer<typeof stored>> = text === undefined ? {} : stored.parse(JSON.parse(text));
  const secrets = {
    ...completeSecrets(old, consumers),
    superuser: old.superuser ?? newSecret(),
    demo: secretsFor(DEMO_LOGINS, old.demo),
    people: secretsFor(people, old.people),
  } as Secrets;
  await writePrivately(home.secrets, `${JSON.stringify(secrets, null, 2)}\n`);
  if ((await readFile(home.masterKey).catch(ifMissing)) === undefined)
    await writePrivately(home.masterKey, `${randomBytes(32).toString('base64')}\n`);
  if ((await readFile(home.signingKey).catch(ifMissing)) === undefined)
    await writePrivately(home.signingKey, newSigningKey());
  return secrets;
}

const ifMissing = (err: NodeJS.ErrnoException): undefined => {
  if (err.code !== 'ENOENT') throw err;
};
