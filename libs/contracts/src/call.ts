import { z } from 'zod';
import { name, sha256Hex, token } from './ids.js';
import { principal, source } from './principal.js';

/** `read` needs no claim, `write` does, `destructive` also needs the space's opt-in. Hints are per action. */
export const hint = z.enum(['read', 'write', 'destructive']);
export type Hint = z.infer<typeof hint>;

/** What may be done when nobody knows whether an attempt took effect (charter, section 6). */
export const executionClass = z.enum(['idempotent', 'keyed', 'reconcilable', 'at-most-once']);
export type ExecutionClass = z.infer<typeof executionClass>;

export const verdict = z.enum(['auto', 'approve', 'deny']);
export type Verdict = z.infer<typeof verdict>;

/** What a call came to (seed 003). */
export const outcome = z.enum(['Ok', 'Error', 'Denied', 'NotFound']);
export type Outcome = z.infer<typeof outcome>;

/** Provenance of a run, stamped by the engine; a tool result cannot set it (charter, section 8). */
export const provenance = z.strictObject({
  agent: name.describe('As declared by the operator.'),
  model: z.string().min(1).max(200).describe('What ran.'),
  source: source.describe('Where the run came from.'),
  principal: principal.describe('Who is answerable.'),
  conversationId: token,
  taskId: token.optional().describe('The task that the run works on.'),
});
export type Provenance = z.infer<typeof provenance>;

/**
 * One tool call, as every event about it names it, so that no consumer needs another service's tables.
 * `action` is the declared action, or null for a tool that declares none; anything undeclared is content and sealed.
 * `digest` is null only for a call that was refused before it could be frozen.
 */
export const callRef = z.strictObject({
  ...provenance.shape,
  server: name.describe('Whose tool it is: `builtin`, or an MCP server.'),
  tool: name,
  action: name.nullable().describe('As declared; null for a tool that declares none.'),
  schemaDigest: sha256Hex.nullable().describe("SHA-256 of the tool's schema."),
  digest: sha256Hex
    .nullable()
    .describe('SHA-256 that names exactly this call; null when it was refused before it could be frozen.'),
});
export type CallRef = z.infer<typeof callRef>;
