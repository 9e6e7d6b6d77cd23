export { AuthGuard } from './auth/auth-guard.js';
export { IdentityFile, type IdentityFileContent, identityFile } from './auth/identity-file.js';
export { type Memberships, policyMemberships, type Standing } from './auth/memberships.js';
export { requirePerson, requireRole } from './auth/require-role.js';
export { Public, ServicesOnly, Who, WhoNow } from './auth/routes.js';
export { type BaseConfig, baseConfig, ConfigError, loadConfig } from './config.js';
export { DATABASE, DatabaseModule, type DatabaseOptions, openDatabase } from './database.js';
export { type DatabaseSession, openSession } from './database-session.js';
export { frozenDigest, sha256, sha256Hex, toolId } from './digest.js';
export { isInfrastructureFault, Unavailable } from './faults.js';
export { type HealthCheck, registerHealth } from './health.js';
export { type EventStreamOptions, type StreamReply, sendEventStream, sendStream } from './http/event-stream.js';
export {
  ContentDestroyed,
  type ContentPlace,
  ContentUnreadable,
  Keyring,
  type KeyringOptions,
  type SealTarget,
} from './keyring/keyring.js';
export { MasterKey } from './keyring/master-key.js';
export { readPrivateFile } from './keyring/private-file.js';
export { counter, histogram, registerGauge, type Sample, type TableGauge, TableGauges } from './metrics.js';
export { type FieldError, Refusal, type RefusalKind, type RefusalOptions } from './refusal.js';
export { credentialsOf } from './secrets/credentials.js';
export { type KnownSecret, KnownSecrets, MASK, SHORTEST_SECRET } from './secrets/known-secrets.js';
export { suspectSecret } from './secrets/suspect-secret.js';
export { maskSuspected } from './secrets/suspected.js';
export { type ServiceClient, type ServiceClientOptions, serviceClient } from './service-client.js';
export { type SpacePolicy, SpacePolicyClient, type SpacePolicyClientOptions } from './space-policy-client.js';
export { createService, type ServiceOptions, type Transport } from './start/create-service.js';
export { keepOutOfLogs } from './start/json-logger.js';
export { orExit, startService } from './start/start-service.js';
export { unguardedRoutes } from './start/web-server.js';
export { passed, type Step } from './steps.js';
export {
  type Attributes,
  continuing,
  currentTraceparent,
  detached,
  errorType,
  inSpan,
  inTraceOf,
  isTracing,
  markFailed,
  type Span,
  SpanKind,
} from './telemetry/spans.js';
