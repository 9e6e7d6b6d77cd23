import { z } from 'zod';
import { exactInteger } from '../exact-integer.js';

const int8 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

/** What stands in one column. Fractions are strings, such as "1380.00": a JSON number with a point has no exact value. */
export const value = z.union([z.string(), exactInteger(int8), z.boolean(), z.null()]);
export type Value = z.infer<typeof value>;

/** The text that the server reads the value from, in the type that it finds for its place. */
export const asParameter = (v: Value): string | null => (v === null ? null : String(v));
