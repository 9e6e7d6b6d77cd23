/** A name that can be read in one way only: ASCII letters, digits and the separators that tools use in names. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9_.:/-]*$/;

export const isPlain = (name: string): boolean => PLAIN.test(name);

/**
 * What is left of a name once case, accents, separators and look-alike ASCII characters are gone. Two plain names with
 * one skeleton can be taken for each other. Says little about a name that is not plain: that may imitate any name.
 */
export function skeleton(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replaceAll('0', 'o')
    .replace(/[1i]/g, 'l')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w');
}

/**
 * The names that `name` could be taken for: itself first, then each known name that looks like it. A name that is
 * neither plain nor known exactly could be taken for any of them: no table of look-alikes is complete, so none is used.
 */
export function readingsOf(name: string, known: readonly string[]): string[] {
  const any = !isPlain(name) && !known.includes(name);
  const shape = skeleton(name);
  return [...new Set([name, ...known.filter((other) => any || skeleton(other) === shape)])];
}
