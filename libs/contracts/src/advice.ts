import { z } from 'zod';
import { hint, verdict } from './call.js';
import { name, token } from './ids.js';

const actionOfTool = { server: name, tool: name, action: name.nullable() };

/** Asked by the engine before a model is told what it can do: what would become of each action, were it called now? */
export const spacePolicyAdviceRequest = z.strictObject({
  agent: name,
  actions: z
    .array(
      z.strictObject({
        ...actionOfTool,
        hint,
        scope: z.enum(['user', 'admin']),
        origin: z.enum(['builtin', 'foreign']),
      }),
    )
    .max(2000),
});
export type SpacePolicyAdviceRequest = z.infer<typeof spacePolicyAdviceRequest>;

/** Advice and no verdict: every call is decided for itself, whatever was said here. */
export const spacePolicyAdvice = z.object({
  spaceId: token,
  agent: name,
  actions: z.array(z.object({ ...actionOfTool, verdict, reason: z.string() })),
});
export type SpacePolicyAdvice = z.infer<typeof spacePolicyAdvice>;
