import { scanArguments } from './scan.js';

/** What a reviver is told of a primitive (ECMAScript "JSON.parse source text access"); not yet in TypeScript's library. */
type SourceReviver = (this: object, key: string, value: unknown, context: { source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: SourceReviver) => unknown;

const plainDigits = /^(?:0|-?[1-9][0-9]*)$/;
/** Of objects and arrays that were parsed here: the fields whose number is an integer only once it is a double. */
const rounded = new WeakMap<object, Set<string>>();

/**
 * The values that the frozen text spells, losslessly for strings and integers: an integer outside ±(2^53 − 1) is a bigint,
 * every other number is the nearest double. Objects have no prototype, so a field that was not sent is never inherited.
 * @throws RefusedArguments when `scanArguments` refuses the text
 */
export function parseArguments(text: string): unknown {
  const scan = scanArguments(text);
  if (!scan.ok) throw new RefusedArguments(scan.code, scan.message);
  return parseWithSource(text, function (key, value, { source }) {
    if (typeof value === 'number' && source !== undefined) {
      if (!plainDigits.test(source)) {
        if (Number.isInteger(value)) rounded.set(this, (rounded.get(this) ?? new Set()).add(key));
      } else if (!Number.isSafeInteger(value)) return BigInt(source);
    }
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) Object.setPrototypeOf(value, null);
    return value;
  });
}

/**
 * Where parsed arguments hold an integer that was not written as one: `1e1`, `1.0`, `-0`, or `1.0000000000000000001`,
 * which is 1 only as a double. A field that takes an exact integer must not take these.
 * @param args what `parseArguments` returned
 */
export function inexactIntegers(args: unknown, path: readonly string[] = []): string[][] {
  if (args === null || typeof args !== 'object') return [];
  const here = rounded.get(args);
  return Object.entries(args).flatMap(([key, value]) =>
    here?.has(key) ? [[...path, key]] : inexactIntegers(value, [...path, key]),
  );
}

export class RefusedArguments extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
