import { z } from 'zod';

/**
 * A path below the base: names joined by `/`. What some server could read as something else is refused: no `.` or `..`, nor
 * any other name of dots alone; no empty name (so neither absolute nor doubled slashes); no backslash; no control character,
 * least of all one that ends a command; no leading `~`; no blank at either end of a name, which servers strip.
 */
const plainPath = (path: string): boolean => {
  const names = path.split('/');
  return (
    !/[\p{Cc}\p{Zl}\p{Zp}\\]/u.test(path) &&
    names.length <= 32 &&
    names.every((n) => !/^(?:\.*|~.*|\s.*|.*\s)$/u.test(n) && Buffer.byteLength(n) <= 255)
  );
};

export const remotePath = z
  .string()
  .min(1)
  .max(1024)
  .refine(
    plainPath,
    'expected a path below the base such as reports/may.csv, without "." or "..", leading "/" or "~", or blanks around a name',
  );

/**
 * Where a checked path is on the server. Always from the server's root, so that a name can begin with `-` and is no option.
 * @param base names below the root, as the operator set them
 */
export function below(base: readonly string[], path: string): { folder: string; name: string; whole: string } {
  // checked once more where it is used: a path that nobody checked goes nowhere
  if (!plainPath(path)) throw new TypeError('not a path below the base');
  const names = [...base, ...path.split('/')];
  const name = names.pop() as string;
  return { folder: `/${names.join('/')}`, name, whole: `/${[...names, name].join('/')}` };
}
