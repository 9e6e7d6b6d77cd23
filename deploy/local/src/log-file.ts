import { closeSync, openSync, readSync, statSync, truncateSync } from 'node:fs';
import { printable } from '@holdpoint/contracts';

const MAX_LOG_BYTES = 10 * 1024 * 1024;

/** Opens a child's log for appending; one that has grown too large begins anew. */
export function openLog(path: string): number {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG_BYTES) truncateSync(path);
  return openSync(path, 'a', 0o600);
}

/** The last lines of a log, safe to show: what a child logs may hold text of strangers. */
export function logTail(path: string, lines = 12): string {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return '';
  const bytes = Buffer.alloc(Math.min(size, 16_384));
  const fd = openSync(path, 'r');
  try {
    readSync(fd, bytes, 0, bytes.length, size - bytes.length);
  } finally {
    closeSync(fd);
  }
  const tail = bytes.toString('utf8').trimEnd().split('\n').slice(-lines);
  return tail.map((line) => `    ${printable(line).slice(0, 500)}`).join('\n');
}
