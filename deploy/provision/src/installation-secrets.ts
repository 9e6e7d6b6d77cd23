import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { ServiceName } from '@holdpoint/contracts';
import { z } from 'zod';
import { BUS_USERS, type BusUser } from './accounts.js';
import { READER_NAMES, SERVICES } from './names.js';
import type { DatabasePasswords } from './roles.js';

/** What services, servers and the provisioner prove themselves with to each other. */
export interface InstallationSecrets {
  database: DatabasePasswords;
  bus: Record<BusUser, string>;
  /** Of the bus' own servers among themselves. */
  cluster: string;
  /** Bearer tokens. */
  services: Record<ServiceName, string>;
  /** Passwords on the bus, by the operator's name for the consumer. */
  consumers: Record<string, string>;
}

const secretText = z.string().min(16);
const named = z.record(z.string(), secretText);

/** As they are kept; a file of an older version lacks what came later. */
export const storedSecrets = z.object({
  database: named.optional(),
  bus: named.optional(),
  cluster: secretText.optional(),
  services: named.optional(),
  consumers: named.optional(),
});

/** Needs no escaping in a URL, a shell or a configuration file. */
export const newSecret = (): string => randomBytes(24).toString('base64url');

/** An Ed25519 key in PEM: audit signs the checkpoints of its log with it. */
export const newSigningKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** One for each name: what is known stays. */
export const secretsFor = (names: readonly string[], known: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, known[name] ?? newSecret()]));

/** Makes what is missing; what is there stays, also of a consumer that is declared no more. */
export function completeSecrets(old: z.infer<typeof storedSecrets>, consumers: readonly string[]): InstallationSecrets {
  return {
    database: secretsFor([...SERVICES, ...READER_NAMES, 'owner'], old.database),
    bus: secretsFor(BUS_USERS, old.bus),
    cluster: old.cluster ?? newSecret(),
    services: secretsFor(SERVICES, old.services),
    consumers: { ...old.consumers, ...secretsFor(consumers, old.consumers) },
  } as InstallationSecrets;
}

/** The installation's secrets lack one, or hold one that is too short. The message names it and shows no value. */
export class SecretsIncomplete extends Error {
  override readonly name = 'SecretsIncomplete';
}

/** What must be there to provision: nothing is made up, since services would not know it. @throws SecretsIncomplete */
export function parseSecrets(text: string, consumers: readonly string[]): InstallationSecrets {
  const old = storedSecrets.safeParse(jsonOf(text));
  if (!old.success)
    throw new SecretsIncomplete(
      `the secrets are wrong: ${old.error.issues.map((i) => `${i.path.join('.') || 'the file'}: ${i.message}`).join('; ')}`,
    );
  const missing = Object.entries(completeSecrets(old.data, consumers)).flatMap(([group, needed]) => {
    const known = old.data[group as keyof InstallationSecrets];
    if (typeof needed === 'string') return known === undefined ? [group] : [];
    return Object.keys(needed).flatMap((name) =>
      (known as object | undefined) && name in (known as object) ? [] : [`${group}.${name}`],
    );
  });
  if (missing.length > 0)
    throw new SecretsIncomplete(
      `the secrets lack ${missing.join(', ')}: make them anew with secrets.main.js, which adds what is missing`,
    );
  return old.data as InstallationSecrets;
}

/** Its complaint would quote what stands in the file. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
