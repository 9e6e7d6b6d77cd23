import type { Problem } from '@holdpoint/contracts';
import { printable } from '@holdpoint/contracts';
import { span, wrapped } from './text.js';

/** npm up to 10 and pnpm say `run-script`, npm from 11 on `run`. */
export const typedUnder = (npmCommand = ''): string =>
  ['run', 'run-script'].includes(npmCommand) ? 'npm run --silent holdpoint --' : 'holdpoint';

/** How this command was typed, and is to be typed next. */
export const TYPED = typedUnder(process.env['npm_command']);

/**
 * Writes lines for people. Whatever a command forgot to escape is escaped here, and at a terminal a line that is too wide is
 * broken behind a mark: nothing of a stranger's can steer the terminal or come to stand at the beginning of a line.
 */
export function say(...lines: string[]): void {
  write(process.stdout, lines);
}

/** Lines to copy and type: of our own words, ids and digests alone, so they need no breaking and are not broken. */
export function advise(...lines: string[]): void {
  process.stdout.write(`${lines.map(harmless).join('\n')}\n`);
}

/** The one JSON document of a command, in ASCII, so that it is as safe to look at as it is to parse. */
export function document(value: unknown): void {
  process.stdout.write(`${ascii(value)}\n`);
}

/** One JSON document of many, each on a line of its own. */
export function documentLine(value: unknown): void {
  process.stdout.write(`${ascii(value, 0)}\n`);
}

/** A word aside, on stderr: it is no part of what was asked for. */
export function note(line: string): void {
  write(process.stderr, [`holdpoint: ${line}`]);
}

export function complain(problem: Problem, json: boolean): void {
  if (json) process.stderr.write(`${ascii(problem)}\n`);
  else write(process.stderr, sentencesOf(problem));
}

/** For a terminal that does not know how wide it is. */
const USUAL_COLUMNS = 80;

function write(to: NodeJS.WriteStream, lines: string[]): void {
  const safe = lines.map(harmless);
  const shown = to.isTTY ? safe.flatMap((line) => wrapped(line, to.columns || USUAL_COLUMNS)) : safe;
  to.write(`${shown.join('\n')}\n`);
}

/** Backslashes stay: what was escaped before must not be escaped twice. */
const harmless = (line: string): string => printable(line, { json: true });

/** What the parser of the command line says of what was typed, or pasted. */
export const typedWrongly = (text: string): string => text.split('\n').map(harmless).join('\n');

const ascii = (value: unknown, indent = 2): string =>
  JSON.stringify(value, null, indent).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** A problem as a person wants to read it: what it is, what to do, its code to look it up by. */
export function sentencesOf(p: Problem, now = Date.now()): string[] {
  const lines = [`holdpoint: ${printable(p.detail ?? p.title)} [${printable(p.code)}]`];
  for (const { field, message } of p.errors ?? []) lines.push(`  ${printable(field)}: ${printable(message)}`);
  const { decidedBy, decidedAt } = p as { decidedBy?: { id?: unknown } | null; decidedAt?: unknown };
  if (typeof decidedAt === 'string' && !p.detail?.includes(decidedAt)) {
    const by = typeof decidedBy?.id === 'string' ? `by ${printable(decidedBy.id)} ` : '';
    const ago = Number.isNaN(Date.parse(decidedAt)) ? '' : `, ${span(now - Date.parse(decidedAt))} ago`;
    lines.push(`  Decided ${by}at ${printable(decidedAt)}${ago}.`);
  }
  if (p.status === 401)
    lines.push('  The token was refused: choose a person with --as <person>, or set HOLDPOINT_TOKEN.');
  return lines;
}
