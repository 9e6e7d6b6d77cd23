import { scanArguments } from './scan.js';

/** What a reviver is told of a primitive (ECMAScript "JSON.parse source text access"); not yet in TypeScript's library. */
type SourceReviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: SourceReviver) => unknown;

/**
 * The values that the frozen text spells, losslessly for strings and integers: an integer outside ±(2^53 − 1) is a bigint,
 * every other number is the nearest double. Objects have no prototype, so a field that was not sent is never inherited.
 * @throws RefusedArguments when `scanArguments` refuses the text
 */
export function parseArguments(text: string): unknown {
  const scan = scanArguments(text);
  if (!scan.ok) throw new RefusedArguments(scan.code, scan.message);
  return parseWithSource(text, (_key, value, { source }) => {
    if (typeof value === 'number')
      return source !== undefined && !Number.isSafeInteger(value) && /^-?[0-9]+$/.test(source) ? BigInt(source) : value;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) Object.setPrototypeOf(value, null);
    return value;
  });
}

export class RefusedArguments extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
