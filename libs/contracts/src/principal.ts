import { z } from 'zod';
import { token } from './ids.js';

/** Who is answerable. `unknown` is said, never guessed (seed 003). */
export const principal = z.strictObject({
  kind: z.enum(['person', 'service', 'unknown']),
  id: z.string().min(1).max(128),
});
export type Principal = z.infer<typeof principal>;

/** Where a run came from (seed 003, charter section 8). */
export const source = z.enum([
  'webview',
  'telegram',
  'task',
  'agentcomm',
  'job',
  'direct',
  'mcp',
  'approval',
  'unknown',
]);
export type Source = z.infer<typeof source>;

export const role = z.enum(['owner', 'admin', 'member']);
export type Role = z.infer<typeof role>;

/** The identity that a bearer token proves: a person with a role a space, or a service. */
export const identity = z.strictObject({
  kind: z.enum(['person', 'service']),
  id: token,
  name: z.string().min(1).max(128),
  spaces: z.record(token, role),
});
export type Identity = z.infer<typeof identity>;
