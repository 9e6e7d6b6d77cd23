import type { ServiceName } from '@holdpoint/contracts';

/** In the order in which their migrations run: `agent-engine` also makes the keyring that others are granted to read. */
export const SERVICES = [
  'agent-engine',
  'policy',
  'staging',
  'taskboard',
  'audit',
] as const satisfies readonly ServiceName[];

const identifier = (service: ServiceName): string => service.replaceAll('-', '_');

/** A service's schema in the one database. */
export const schemaOf = identifier;

/** The database role that a service logs in as; it owns nothing. */
export const roleOf = (service: ServiceName): string => `hp_${identifier(service)}`;

/**
 * Second logins that can only read. Row policies of their own let one see what the service as a person's hand must not:
 * policy answers for every member of every space, and writes as one person at a time.
 */
export const READERS = { 'policy-reader': { service: 'policy', role: 'hp_policy_reader' } } as const satisfies Record<
  string,
  { service: ServiceName; role: string }
>;
export type ReaderName = keyof typeof READERS;
export const READER_NAMES = Object.keys(READERS) as ReaderName[];

/** A service's account on the bus. */
export const accountOf = (service: ServiceName): string => identifier(service).toUpperCase();

/** Owns the database, every schema and every table, and runs migrations. */
export const OWNER_ROLE = 'hp_owner';
export const DATABASE_NAME = 'holdpoint';
export const KEYRING_SCHEMA = 'keyring';
