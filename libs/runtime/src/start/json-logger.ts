import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import type { BaseConfig } from '../config.js';
import type { KnownSecrets } from '../secrets/known-secrets.js';
import { maskSuspected } from '../secrets/suspected.js';

/** How the framework tells what it wires, and errors that start-up reports itself. */
const chatter = new Set(['InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestFactory', 'NestApplication']);
const reportedByStart = new Set(['ExceptionHandler', 'NestApplication']);

const known: Pick<KnownSecrets, 'scrub'>[] = [];

/** From now on these too are kept out of everything that this process logs, in whatever spelling. */
export function keepOutOfLogs(secrets: Pick<KnownSecrets, 'scrub'>): void {
  known.push(secrets);
}

/**
 * One JSON object a line, on stdout. Secrets that are known, and what looks like one, are masked. Whatever could steer a terminal or reorder a line is escaped, so that text of a
 * stranger stays text: it cannot make a second line or hide a part of its own.
 */
export class JsonLogger extends ConsoleLogger {
  constructor(
    private readonly service: string,
    level: BaseConfig['LOG_LEVEL'],
  ) {
    super({ json: true, colors: false, logLevels: [level === 'info' ? 'log' : level] });
  }

  override log(message: unknown, ...rest: unknown[]): void {
    if (chatter.has(String(rest.at(-1)))) super.debug(message, ...(rest as [string]));
    else super.log(message, ...(rest as [string]));
  }

  override error(message: unknown, ...rest: unknown[]): void {
    if (!reportedByStart.has(String(rest.at(-1)))) super.error(message, ...(rest as [string]));
  }

  protected override printAsJson(message: unknown, options: Parameters<ConsoleLogger['printAsJson']>[1]): void {
    super.printAsJson(message, { ...options, writeStreamType: 'stdout' });
  }

  protected override getJsonLogObject(message: unknown, options: Parameters<ConsoleLogger['printAsJson']>[1]) {
    const { level, pid, timestamp, ...rest } = super.getJsonLogObject(message, options);
    return {
      time: new Date(timestamp).toISOString(),
      level: (level === 'log' ? 'info' : level) as LogLevel,
      service: this.service,
      pid,
      ...rest,
    } as unknown as ReturnType<ConsoleLogger['getJsonLogObject']>;
  }

  protected override stringifyJsonLogObject(entry: Record<string, unknown>): string {
    const line = super.stringifyJsonLogObject(entry);
    return maskSuspected(known.reduce((text, secrets) => secrets.scrub(text), line)).replace(
      /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu,
      (ch) =>
        Array.from({ length: ch.length }, (_, i) => `\\u${ch.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
    );
  }
}
