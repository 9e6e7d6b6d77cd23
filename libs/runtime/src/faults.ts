import { Refusal } from './refusal.js';

/** A service, a bus or a database that this one depends on gives no usable answer. Wait and try again. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/**
 * SQLSTATEs that say something about the server or the moment, not about the statement: connection (08), resources
 * (53), shutdown and start (57P), disk (58), authentication (28), a database that is gone or a standby, serialization
 * and deadlock (40001, 40P01), a lock or a time-out (55P03, 57014, 25P03).
 */
const serverState = /^(08...|53...|57P..|58...|28...|3D000|25006|25P03|40001|40P01|55P03|57014)$/;

const nodeCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EMFILE',
  'ENFILE',
  'ENOSPC',
]);

/** Errors of the bus client, and of `fetch` and `AbortSignal.timeout`, by name. */
const names = new Set([
  'Unavailable',
  'TimeoutError',
  'NoRespondersError',
  'ConnectionError',
  'ClosedConnectionError',
  'DrainingConnectionError',
  'AuthorizationError',
  'UserAuthenticationExpiredError',
  'JetStreamNotEnabled',
]);

/** The database client gives these no code. */
const clientMessages = new Set([
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Query read timeout',
]);

/**
 * Whether the fault lies with what we depend on rather than with the work in hand: wait and repeat, never count it
 * towards a dead letter (charter, section 3). Looks through `cause` and `AggregateError`.
 */
export function isInfrastructureFault(err: unknown): boolean {
  return search(err, 0);
}

/** By shape and not by class: errors of another realm count too. */
function search(thrown: unknown, depth: number): boolean {
  if (typeof thrown !== 'object' || thrown === null || depth > 8) return false;
  if (thrown instanceof Refusal) return thrown.kind === 'unavailable';
  const { code, name, message, errors, cause } = thrown as Record<string, unknown>;
  if (typeof code === 'string' && (serverState.test(code) || nodeCodes.has(code))) return true;
  if (names.has(String(name)) || clientMessages.has(String(message))) return true;
  if (Array.isArray(errors) && errors.some((e) => search(e, depth + 1))) return true;
  return search(cause, depth + 1);
}
