import { z } from 'zod';

/** A strict object of what a person writes: a field that there is not is refused, with those that there are. */
export const strictFields = <S extends z.ZodRawShape>(shape: S) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `Unrecognized key: ${(issue.keys as string[]).map((k) => JSON.stringify(k)).join(', ')}; allowed: ${Object.keys(shape).join(', ')}`
        : undefined,
  });
