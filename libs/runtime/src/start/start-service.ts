import { setTimeout as delay } from 'node:timers/promises';
import { type INestApplication, Logger } from '@nestjs/common';
import { ConfigError } from '../config.js';
import { isInfrastructureFault } from '../faults.js';
import { credentialsOf } from '../secrets/credentials.js';
import { KnownSecrets } from '../secrets/known-secrets.js';
import { startTelemetry } from '../telemetry/start-telemetry.js';
import { buildService, openService, type ServiceOptions } from './create-service.js';
import { JsonLogger, keepOutOfLogs } from './json-logger.js';
import { openWaitingRoom } from './waiting-room.js';

const LONGEST_WAIT_MS = 5_000;
/** The status of what is configured wrongly, as in sysexits.h. */
const EX_CONFIG = 78;
/** Of the program, never of what a person wrote. */
const FAULTS = [TypeError, ReferenceError, RangeError];

/**
 * Settings, or what is made of them and of the files that they name. What a person wrote wrongly is said in one line, and
 * ends the process with EX_CONFIG, since no further start mends it; a fault of the program keeps its stack.
 */
export function orExit<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (err) {
    if (!(err instanceof Error) || FAULTS.some((fault) => err instanceof fault)) throw err;
    new JsonLogger(name, 'fatal').fatal(err.message, 'Process');
    return process.exit(EX_CONFIG);
  }
}

/**
 * Runs a service as a process of its own, until it is told to stop.
 * - A dependency that is down at start is waited for: `/healthz` answers, `/readyz` says 503.
 * - SIGTERM, SIGINT and the end of a supervisor's IPC channel drain it: requests and events in hand are finished, for at
 *   most `drainMs`, and the last spans are sent. Telling it twice changes nothing.
 * - Any other fault at start, and any error that nobody caught, is logged and ends the process with status 1, for the
 *   supervisor to start it again.
 */
export async function startService(options: ServiceOptions): Promise<INestApplication> {
  const { drainMs = 10_000 } = options;
  keepOutOfLogs(new KnownSecrets(credentialsOf(options.config).known));
  Logger.overrideLogger(new JsonLogger(options.name, options.config.LOG_LEVEL));
  const log = new Logger('Process');
  const stop = new AbortController();
  const die = (what: string, cause?: unknown): never => {
    log.fatal(what, ...(cause === undefined ? [] : [asError(cause)]));
    process.exit(1);
  };

  // When the supervisor is gone nobody reads the log; that must not cut the drain short.
  process.stdout.on('error', () => undefined);
  process.on('unhandledRejection', (reason) => die('a promise was rejected and nobody cared', reason));
  process.on('uncaughtException', (error) => die('an error was thrown and nobody caught it', error));

  const telemetry = startTelemetry(options.name);
  const starting = telemetry.then(() => start(options, log, stop.signal));
  const drain = async (why: string) => {
    if (stop.signal.aborted) return;
    stop.abort();
    log.log(`stopping: ${why}`);
    setTimeout(() => die(`work in hand did not end within ${drainMs} ms`), drainMs);
    const app = await starting.catch(() => undefined);
    await app?.close();
    await (await telemetry)();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void drain(signal));
  // Without a supervisor's channel it is undefined; false means that the supervisor went while this was starting.
  if (process.connected === true) process.once('disconnect', () => void drain('the supervisor is gone'));
  if (process.connected === false) void drain('the supervisor is gone');

  try {
    return await starting;
  } catch (err) {
    // The drain is on its way to end the process.
    if (stop.signal.aborted) return new Promise(() => undefined);
    return die(explain(err, options), isListenFault(err) || err instanceof ConfigError ? undefined : err);
  }
}

async function start(options: ServiceOptions, log: Logger, stop: AbortSignal): Promise<INestApplication> {
  const { PORT, HOST } = options.config;
  for (let attempt = 0; ; attempt++) {
    const room = await openWaitingRoom(PORT, HOST);
    try {
      const app = await buildService(options);
      await room.close();
      const open = await openService(app, options);
      log.log(`ready at ${await open.getUrl()}`);
      // A supervisor that listens tells by it that the service came up; one that is gone is no fault of the start.
      if (process.connected) process.send?.('ready', undefined, undefined, () => undefined);
      return open;
    } catch (err) {
      if (!isInfrastructureFault(err)) throw err;
      log.warn(`a dependency is down, waiting for it: ${asError(err).message}`);
      await delay(Math.min(250 * 2 ** attempt, LONGEST_WAIT_MS), undefined, { signal: stop });
    } finally {
      await room.close();
    }
  }
}

const isListenFault = (err: unknown): boolean => asError(err).message.startsWith('listen ');

function explain(err: unknown, { config }: ServiceOptions): string {
  if (err instanceof ConfigError) return err.message;
  const where = `${config.HOST}:${config.PORT}`;
  switch (isListenFault(err) ? (err as NodeJS.ErrnoException).code : '') {
    case 'EADDRINUSE':
      return `${where} is in use: stop what listens there, or set PORT to a free port`;
    case 'EACCES':
      return `${where} is not allowed to this user: set PORT to 1024 or more`;
    case 'EADDRNOTAVAIL':
      return `${where} is no address of this machine: set HOST to one`;
    default:
      return 'the service cannot start';
  }
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
