import type { Problem } from '@holdpoint/contracts';

/** Whatever ends a command badly: a service's problem as it came (RFC 9457), or one of our own. */
export class Failure extends Error {
  override readonly name = 'Failure';
  constructor(
    readonly problem: Problem,
    readonly exitCode: 1 | 2 = 1,
  ) {
    super(problem.detail ?? problem.title);
  }
}

/** @param code such as `cli.not-running` @param detail what is wrong and what to do */
export const failed = (code: string, detail: string, status = 500): Failure =>
  new Failure({ type: `urn:holdpoint:problem:${code}`, title: 'The command failed', status, detail, code });

/** The command was typed wrongly; nothing was asked of any service. */
export const misused = (detail: string): Failure =>
  new Failure({ type: 'urn:holdpoint:problem:cli.usage', title: 'Usage', status: 400, detail, code: 'cli.usage' }, 2);

export const notRunning = (what: string): Failure =>
  failed('cli.not-running', `${what} Is Holdpoint running? Start it with: npm start`, 503);
