import { z } from 'zod';

/** What the supervisor tells its own programs, in their environment. */
const schema = z.object({
  HOLDPOINT_CHILD: z.string().transform((json) => JSON.parse(json) as unknown),
});

/** @throws when a program is started by hand: it is one of the supervisor's. */
export function childSettings<S extends z.ZodType>(settings: S): z.infer<S> {
  return settings.parse(schema.parse(process.env).HOLDPOINT_CHILD);
}

export const childEnvironment = (settings: unknown): Record<string, string> => ({
  HOLDPOINT_CHILD: JSON.stringify(settings),
});
