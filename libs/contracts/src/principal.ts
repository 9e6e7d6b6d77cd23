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

/** A person as the issuer of their tokens names them (`sub`): printable ASCII without spaces, compared byte for byte. */
export const userId = z.string().regex(/^[!-~]{1,128}$/);

/** For people to read, never to decide by: two people may have the same one. Text of a stranger. */
export const displayName = z.string().trim().min(1).max(128);

/** Whom the credentials of a request prove: a person with a role a space, or a service. */
export const identity = z.strictObject({
  kind: z.enum(['person', 'service']),
  id: userId,
  name: z.string().min(1).max(128),
  spaces: z.record(token, role),
  /** The groups that they are in, a space each. */
  groups: z.record(token, z.array(token).max(50)).optional(),
});
export type Identity = z.infer<typeof identity>;
