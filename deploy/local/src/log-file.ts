import { closeSync, openSync, readSync, statSync, truncateSync } from 'node:fs';
import { printable } from '@holdpoint/contracts';
import { z } from 'zod';

const MAX_LOG_BYTES = 10 * 1024 * 1024;

/** Opens a child's log for appending; one that has grown too large begins anew. */
export function openLog(path: string): number {
  if (logEnd(path) > MAX_LOG_BYTES) truncateSync(path);
  return openSync(path, 'a', 0o600);
}

/** How far a log goes, for `logTail` to begin there. */
export const logEnd = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** The last lines of a log, from `start` on, safe to show: what a child logs may hold text of strangers. */
export function logTail(path: string, start: number, lines = 12): string {
  const end = logEnd(path);
  const bytes = Buffer.alloc(Math.min(end - start, 16_384));
  if (bytes.length <= 0) return '';
  const fd = openSync(path, 'r');
  try {
    readSync(fd, bytes, 0, bytes.length, end - bytes.length);
  } finally {
    closeSync(fd);
  }
  const tail = bytes.toString('utf8').trimEnd().split('\n').slice(-lines);
  return tail.map((line) => `    ${printable(sentenceOf(line)).slice(0, 500)}`).join('\n');
}

const entry = z.object({ level: z.string(), message: z.string(), error: z.object({ message: z.string() }).optional() });

/** A service's line without what is for machines; any other line as it is. */
function sentenceOf(line: string): string {
  try {
    const { level, message, error } = entry.parse(JSON.parse(line));
    return [level, message, ...(error === undefined ? [] : [error.message])].join(': ');
  } catch {
    return line;
  }
}
