import { z } from 'zod';

/**
 * An integer exactly as the model wrote it: a number within ±(2^53 − 1), a bigint beyond (see `parseArguments`). A number
 * outside that range has lost digits already (`1e30`, `9007199254740993.0`) and is refused. Bounds are inclusive.
 */
export function exactInteger(bounds: {
  min: number | bigint;
  max: number | bigint;
}): z.ZodType<number | bigint, number | bigint> {
  const { min, max } = bounds;
  const fits = (v: unknown): v is number | bigint =>
    (typeof v === 'bigint' || Number.isSafeInteger(v)) && (v as number) >= min && (v as number) <= max;
  const schema = z
    .unknown()
    .refine(fits, `expected an integer from ${min} to ${max}, written in plain digits`)
    .meta({ type: 'integer', minimum: Number(min), maximum: Number(max) });
  return schema as z.ZodType<number | bigint, number | bigint>;
}
