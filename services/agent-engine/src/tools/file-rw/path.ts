import { z } from 'zod';

/**
 * A path below the root: names joined by `/`. No `.` or `..`, no empty name (so neither absolute nor doubled slashes), no
 * backslash that another reader could take for a separator, no control character.
 */
const plainPath = (path: string): boolean =>
  !/[\p{Cc}\\]/u.test(path) &&
  path.split('/').every((name) => name !== '' && name !== '.' && name !== '..' && Buffer.byteLength(name) <= 255);

export const relativePath = z
  .string()
  .min(1)
  .max(1024)
  .refine(
    plainPath,
    'expected a path inside the workspace such as notes/today.md, without "." or ".." and no leading "/"',
  );

/** Checked once more where it is used: a path that nobody checked goes nowhere. */
export function namesOf(path: string): [name: string, ...rest: string[]] {
  if (!plainPath(path)) throw new TypeError('not a path inside of the workspace');
  return path.split('/') as [string, ...string[]];
}
