export { BUS_API_PREFIX, BUS_USERS, type BusConfig, type BusUser, renderBusConfig } from './accounts.js';
export { type EmbeddedNats, type NatsOptions, natsBinary, startNats } from './embedded/nats.js';
export { type EmbeddedPostgres, type PostgresOptions, startPostgres } from './embedded/postgres.js';
export { othersMayTraverse } from './embedded/postgres-binaries.js';
export {
  endProcess,
  identify,
  isRunning,
  type ProcessIdentity,
  whenGone,
} from './embedded/process-identity.js';
export { freePort, isFree, type ServerProcess, startServer } from './embedded/server-process.js';
export {
  ConsumersError,
  durableNames,
  type ForeignConsumer,
  foreignUser,
  readConsumers,
} from './foreign-consumers.js';
export {
  completeSecrets,
  type InstallationSecrets,
  newSecret,
  newSigningKey,
  parseSecrets,
  SecretsIncomplete,
  secretsFor,
  storedSecrets,
} from './installation-secrets.js';
export { MigrationFailed, type Migrations, migrate } from './migrate.js';
export {
  accountOf,
  DATABASE_NAME,
  OWNER_ROLE,
  READER_NAMES,
  READERS,
  type ReaderName,
  roleOf,
  SERVICES,
  schemaOf,
} from './names.js';
export { writePrivately } from './private-file.js';
export { type BusProvisioning, provisionBus } from './provision.js';
export type { Comparison, Difference } from './recovery/compare.js';
export { CannotRecover, projectionOf } from './recovery/projections.js';
export { type Rebuilt, type Recovery, rebuild } from './recovery/rebuild.js';
export { reconcile } from './recovery/reconcile.js';
export { type Refilled, refill } from './recovery/refill.js';
export {
  CannotProvision,
  type DatabasePasswords,
  type DatabaseProvisioning,
  databaseUrl,
  ensureDatabase,
  ensureRole,
  provisionDatabase,
  withClient,
} from './roles.js';
export { type ServerVersion, serverVersion } from './server-version.js';
export { type BusToVerify, BusUnusable, verifyBus, verifyImports } from './verify-bus.js';
